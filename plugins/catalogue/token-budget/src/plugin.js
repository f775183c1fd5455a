// Notices when a prompt or the session has used a share of its budget of tokens, time or money.
//
// It is asked only when a step has ended, and reports each threshold of each budget once.

import { detection, reached } from "./budgets.js";
import { checked } from "./config.js";
import { bytesOf, settings, telling, textOf } from "./portcullis.js";
import { count } from "./usage.js";

export const detector = telling({
    prepare: checked,

    detect(prepared, state, totals, action, context) {
        const { outcome } = action;
        if (outcome === null || outcome.status === "pending" || outcome.status === "refused") return { detections: [], state: null };
        const values = settings(prepared);
        const usage = count(remembered(state), totals.prompts, action, context);
        const found = detection(reached(usage, values), usage, values, action.step);
        return { detections: found === null ? [] : [found], state: bytesOf(JSON.stringify(usage)) };
    },
});

/** What an earlier call wrote; null where there is nothing. */
function remembered(state) {
    if (state.length === 0) return null;
    try {
        return JSON.parse(textOf(state));
    } catch {
        throw { tag: "invalid-input", val: "`state` is damaged: start a new session" };
    }
}
