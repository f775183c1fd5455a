// Notices when one action after another fails.
//
// An agent that fails at everything lately is better stopped and asked than left to try a tenth way.

import type { Detection, Detector, Report } from "portcullis:plugin/detector@0.1.0";
import host from "portcullis:plugin/host@0.1.0";
import { evidence, prepared, refused, settings, telling } from "./portcullis.ts";

const DEFAULTS = { most: 3 };
const NOTHING: Report = { detections: [], state: null };

export const detector = telling<Detector>({
    prepare(given) {
        const bytes = prepared(given, DEFAULTS);
        const { most } = settings<typeof DEFAULTS>(bytes);
        if (most < 2 || most > 50) throw refused("most", "should be from 2 to 50");
        return bytes;
    },

    detect(prepared, _state, _totals, action) {
        if (action.outcome === null) return NOTHING;
        const { most } = settings<typeof DEFAULTS>(prepared);
        // The action itself is the last of them, now that it has ended.
        const steps = host.steps(most);
        const [first] = steps;
        if (first === undefined || steps.length < most || steps.some((step) => step.status !== "failed")) return NOTHING;
        const [line = ""] = action.outcome.error.split("\n");
        const detection: Detection = {
            pattern: "sample-check",
            severity: "medium",
            confidence: 700,
            impact: 500,
            firstStep: first.index,
            summary: `the last ${most} actions failed`,
            evidence: [evidence("error", line)],
        };
        return { detections: [detection], state: null };
    },
});
