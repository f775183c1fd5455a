// Notices when one action after another fails.
//
// An agent that fails at everything lately is better stopped and asked than left to try a tenth way.

import host from "portcullis:plugin/host@0.1.0";
import { evidence, prepared, refused, settings, telling } from "./portcullis.js";

const DEFAULTS = { most: 3 };

export const detector = telling({
    prepare(given) {
        const bytes = prepared(given, DEFAULTS);
        const { most } = settings(bytes);
        if (most < 2 || most > 50) throw refused("most", "should be from 2 to 50");
        return bytes;
    },

    detect(prepared, state, totals, action, context) {
        const nothing = { detections: [], state: null };
        if (action.outcome === null) return nothing;
        const { most } = settings(prepared);
        // The action itself is the last of them, now that it has ended.
        const steps = host.steps(most);
        if (steps.length < most || steps.some((step) => step.status !== "failed")) return nothing;
        const detection = {
            pattern: "sample-check",
            severity: "medium",
            confidence: 700,
            impact: 500,
            firstStep: steps[0].index,
            summary: `the last ${most} actions failed`,
            evidence: [evidence("error", action.outcome.error.split("\n")[0])],
        };
        return { detections: [detection], state: null };
    },
});
