// Asks before an applied database migration is changed.
//
// Whoever ran a migration has its old text: changing the file changes nothing for them, and everything for those who
// run it later.

import type { Assessor, Ruling } from "portcullis:plugin/assessor@0.1.0";
import type { Path } from "portcullis:plugin/types@0.1.0";
import { evidence, prepared, settings, telling, touched } from "./portcullis.ts";

const DEFAULTS = { folders: ["migrations"] };

export const assessor = telling<Assessor>({
    prepare(given) {
        return prepared(given, DEFAULTS);
    },

    assess(prepared, action) {
        const { folders } = settings<typeof DEFAULTS>(prepared);
        const changes = touched(action).filter(({ effect }) => effect === "file-modify" || effect === "file-delete");
        const applied = changes.find(({ path }) => liesIn(path, folders));
        return { risk: null, rationality: null, sideEffects: null, rulings: applied ? [refusal(applied.path)] : [] };
    },
});

/** One of the folders that it is in has one of the names. */
function liesIn(path: Path, folders: string[]): boolean {
    return path.text.split("/").slice(0, -1).some((folder) => folders.includes(folder));
}

function refusal(path: Path): Ruling {
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
