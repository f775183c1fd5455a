// Notices tests that are deleted, skipped or loosened while the goal is to make them pass.
//
// ../README.md says exactly what it does; each module is a section of it.

import type { Detection, Detector, Report } from "portcullis:plugin/detector@0.1.0";
import type { Evidence } from "portcullis:plugin/types@0.1.0";
import * as goals from "./goals.ts";
import { type Memory, remembered } from "./memory.ts";
import { bytesOf, refused, telling, textOf } from "./portcullis.ts";
import { nameOf, Project } from "./project.ts";
import { ended } from "./runs.ts";
import { hold } from "./texts.ts";
import { KINDS, type Weakening, weakening } from "./weakening.ts";

const FOLDERS = ["test", "tests", "spec", "specs", "__tests__"];
const NOTHING: Report = { detections: [], state: null };

export const detector = telling<Detector>({
    prepare(settings) {
        let folders = FOLDERS;
        for (const { key, value } of settings) {
            if (key !== "folders") throw refused(key, "unknown: the only setting is folders");
            if (value.tag !== "texts") throw refused(key, "it must be a list of texts");
            folders = value.val;
        }
        return bytesOf(folders.map((name) => `${name}\n`).join(""));
    },

    detect(prepared, state, _totals, action, context) {
        if (action.outcome !== null) return { detections: [], state: ended(action, action.outcome) };
        const memory = remembered(state);
        const wanted = goals.wantTestsToPass(context.goals);
        if (goals.askForIt(context.goals) || !(wanted || memory !== null)) return NOTHING;
        const found = weakening(action, new Project(context.roots, textOf(prepared).split("\n").slice(0, -1)));
        return found === null ? NOTHING : { detections: [detection(found, wanted, memory, action.step)], state: null };
    },
});

function detection(found: Weakening, wanted: boolean, failed: Memory | null, step: number): Detection {
    const { severity, impact, says } = KINDS[found.kind];
    const isOfFile = found.kind !== "left-out";
    const namesIt = isOfFile && failed !== null && hold(failed.shown, bytesOf(nameOf(found.thing)));
    const why = wanted ? "while the goal is to make the tests pass" : "after a test run that failed";
    const evidence: Evidence[] = [{ kind: isOfFile ? "path" : "command", value: found.thing, step }];
    if (found.mark !== undefined) evidence.push({ kind: "mark", value: found.mark, step });
    if (failed !== null) evidence.push({ kind: "step", value: String(failed.step), step: failed.step });
    return {
        pattern: "tests_weakened",
        severity,
        confidence: namesIt ? 950 : wanted && failed !== null ? 800 : 700,
        impact,
        firstStep: failed?.step ?? step,
        summary: `${says(found.thing, found.mark ?? "")} ${why}`,
        evidence,
    };
}
