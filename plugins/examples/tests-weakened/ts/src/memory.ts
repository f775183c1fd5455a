// The newest test run that failed: the plugin's own state.

import { read, spelled, written } from "./texts.ts";

/** How much is kept of what it showed. */
const MOST_SHOWN = 2048;

/** A test run that failed. */
export interface Memory {
    step: number;
    /** What it showed, spelled byte by byte. */
    shown: string;
}

/** What the state tells of it. */
export function remembered(state: Uint8Array): Memory | null {
    const text = read(state);
    const end = text.indexOf("\n");
    if (!text.startsWith("1 ") || end === -1) return null;
    const step = Number.parseInt(text.slice(2, end), 10);
    return Number.isNaN(step) ? null : { step, shown: text.slice(end + 1) };
}

/** The state that tells of it. */
export function state(step: number, error: string, output: string): Uint8Array {
    return written(`1 ${step}\n${spelled(`${error}\n${output}`).slice(0, MOST_SHOWN)}`);
}
