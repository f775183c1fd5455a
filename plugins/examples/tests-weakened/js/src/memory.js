// The newest test run that failed: the plugin's own state.

import { bytesOf, textOf } from "./portcullis.js";

/** How much is kept of what it showed. */
const MOST_SHOWN = 2048;

/** The test run that the state tells of, and the bytes of what it showed; null where there was none. */
export function recalled(state) {
    const end = state.indexOf("\n".charCodeAt(0));
    const [, step] = /^1 ([0-9]+)$/.exec(end < 0 ? "" : textOf(state.slice(0, end))) ?? [];
    return step === undefined ? null : { step: Number(step), shown: state.slice(end + 1) };
}

/** The state that tells of one. */
export function remembered(step, error, output) {
    // What cannot be kept is not looked at: each character costs fuel. One more, since it may be the half of one.
    const shown = bytesOf(`${error}\n${output}`.slice(0, MOST_SHOWN + 1)).subarray(0, MOST_SHOWN);
    const head = bytesOf(`1 ${step}\n`);
    const state = new Uint8Array(head.length + shown.length);
    state.set(head);
    state.set(shown, head.length);
    return state;
}
