// The newest test run that failed: the plugin's own state.

import { bytesOf, fromArray, toArray } from "./texts.js";

/** How much is kept of what it showed. */
const MOST_SHOWN = 2048;

/** The test run that the state tells of, and the bytes of what it showed; null where there was none. */
export function recalled(state) {
    const [, step, shown] = /^1 ([0-9]+)\n([^]*)$/.exec(fromArray(state)) ?? [];
    return step === undefined ? null : { step: Number(step), shown };
}

/** The state that tells of one. */
export function remembered(step, error, output) {
    const shown = bytesOf(`${error}\n${output}`).slice(0, MOST_SHOWN);
    return toArray(`1 ${step}\n${shown}`);
}
