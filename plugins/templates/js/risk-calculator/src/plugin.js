// Asks before an applied database migration is changed.
//
// Whoever ran a migration has its old text: changing the file changes nothing for them, and everything for those who
// run it later.

import { evidence, prepared, settings, telling, touched } from "./portcullis.js";

const DEFAULTS = { folders: ["migrations"] };

export const assessor = telling({
    prepare(given) {
        return prepared(given, DEFAULTS);
    },

    assess(prepared, action, context) {
        const { folders } = settings(prepared);
        const applied = touched(action).find(({ effect, path }) => ["file-modify", "file-delete"].includes(effect) && liesIn(path, folders));
        return { risk: null, rationality: null, sideEffects: null, rulings: applied ? [refusal(applied.path)] : [] };
    },
});

/** One of the folders that it is in has one of the names. */
function liesIn(path, folders) {
    return path.text.split("/").slice(0, -1).some((folder) => folders.includes(folder));
}

function refusal(path) {
    return {
        rule: "sample-check",
        objection: "ask",
        severity: "high",
        reason: "an applied migration must stay as it was run",
        evidence: [evidence("path", path.text)],
        alternatives: ["write a new migration that makes the change"],
        rewrite: null,
    };
}
