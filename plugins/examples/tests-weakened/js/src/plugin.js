// Notices tests that are deleted, skipped or loosened while the goal is to make them pass.
//
// `../../README.md` says exactly what it does; each other module here is a section of it.

import { askForIt, wantTestsToPass } from "./goals.js";
import { recalled } from "./memory.js";
import { bytesOf, refused, telling, textOf } from "./portcullis.js";
import { ended } from "./runs.js";
import { Project, nameOf } from "./tests_of.js";
import { holds } from "./texts.js";
import { weakening } from "./weakening.js";

const FOLDERS = ["test", "tests", "spec", "specs", "__tests__"];

export const detector = telling({
    prepare(settings) {
        let folders = FOLDERS;
        for (const { key, value } of settings) {
            if (key !== "folders") throw refused(key, "unknown: the only setting is folders");
            if (value.tag !== "texts") throw refused(key, "it must be a list of texts");
            folders = value.val;
        }
        return bytesOf(folders.map((folder) => `${folder}\n`).join(""));
    },

    detect(prepared, state, totals, action, context) {
        if (action.outcome !== null) return { detections: [], state: ended(action, action.outcome) };
        const failed = recalled(state);
        const wanted = wantTestsToPass(context.goals);
        const nothing = { detections: [], state: null };
        if (askForIt(context.goals) || !(wanted || failed)) return nothing;
        const folders = textOf(prepared).split("\n").slice(0, -1);
        const found = weakening(action, new Project(context.roots, folders));
        return found === null ? nothing : { detections: [detection(found, wanted, failed, action.step)], state: null };
    },
});

function detection(found, wanted, failed, step) {
    const evidence = [{ kind: found.isOfAFile ? "path" : "command", value: found.thing, step }];
    if (found.mark) evidence.push({ kind: "mark", value: found.mark, step });
    if (failed) evidence.push({ kind: "step", value: `${failed.step}`, step: failed.step });
    const why = wanted ? "while the goal is to make the tests pass" : "after a test run that failed";
    return {
        pattern: "tests_weakened",
        severity: found.severity,
        confidence: confidence(found, wanted, failed),
        impact: found.impact,
        firstStep: failed?.step ?? step,
        summary: `${found.summary} ${why}`,
        evidence,
    };
}

function confidence(found, wanted, failed) {
    if (failed && found.isOfAFile && holds(failed.shown, bytesOf(nameOf(found.thing)))) return 950;
    return wanted && failed ? 800 : 700;
}
