// The newest test run that failed: the plugin's own state.

import { bytesOf, textOf } from "./portcullis.ts";

/** How much is kept of what it showed. */
const MOST_SHOWN = 2048;
const LINE_FEED = 10;

/** A test run that failed. */
export interface Memory {
    step: number;
    /** What it showed, cut within a character perhaps. */
    shown: Uint8Array;
}

/** What the state tells of it. */
export function remembered(state: Uint8Array): Memory | null {
    const end = state.indexOf(LINE_FEED);
    const [, step] = /^1 ([0-9]+)$/.exec(end === -1 ? "" : textOf(state.slice(0, end))) ?? [];
    return step === undefined ? null : { step: Number(step), shown: state.slice(end + 1) };
}

/** The state that tells of it. */
export function state(step: number, error: string, output: string): Uint8Array {
    const head = bytesOf(`1 ${step}\n`);
    // What cannot be kept is not looked at. A character more, since that may be the half of one.
    const shown = bytesOf(`${error}\n${output}`.slice(0, MOST_SHOWN + 1)).subarray(0, MOST_SHOWN);
    const whole = new Uint8Array(head.length + shown.length);
    whole.set(head);
    whole.set(shown, head.length);
    return whole;
}
