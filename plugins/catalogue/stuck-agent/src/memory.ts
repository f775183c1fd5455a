// What is remembered of the steps since the person's last prompt: the plugin's own state.

import type { Error as Failed } from "portcullis:plugin/types@0.1.0";

/** The layout of the bytes. Those of another layout are forgotten: it counts from here on. */
const LAYOUT = 1;
const MOST_FILES = 24;
const MOST_STATES = 10;
const MOST_CHAINS = 12;
const MOST_FAILURES = 24;
const MOST_SEEN = 64;
const MOST_READ = 32;
const MOST_IDLE = 64;
/** Bytes that are turned into characters at once. */
const CHUNK = 4096;

/** The states that a file had. */
export interface FileMemory {
    path: string;
    edits: number;
    first: number;
    /** What the whole file was, newest last. */
    whole: string[];
    /** What parts of it were: each part's states, newest last. */
    parts: string[][];
    /** How often it came back to a state. */
    returns: Record<string, number>;
}

/** A test, or another check, that fails. */
export interface Failure {
    id: string;
    /** Runs in which it failed, and those of them since its reason changed. */
    runs: number;
    same: number;
    reason: string;
    /** How it was run: shapes, and programs for a person. */
    shapes: number[];
    programs: string[];
    /** The errors' fingerprints as the host's; 0 where the run did not fail as a whole. */
    errors: number[];
    first: number;
    last: number;
    /** Edits in the session when it first failed. */
    edits: number;
}

/** A part of a file that was read, in lines. */
export type Range = [path: string, from: number, to: number];

/** What is remembered since the last prompt. */
export interface Memory {
    prompt: number;
    edits: number;
    files: FileMemory[];
    failures: Failure[];
    /** The fewest failures of a run. */
    fewest: number;
    /** What looks told since the last change. */
    seen: string[];
    read: Range[];
    /** Steps in a row that told nothing new: what they did. */
    idle: string[];
    idleSince: number;
    /** Milliseconds that were waited since the last change, and up to which of them it was reported. */
    waited: number;
    waits: number;
    waitSince: number;
    waitReported: number;
}

/** Nothing yet. */
export function begin(prompt: number): Memory {
    return {
        ...{ prompt, edits: 0, files: [], failures: [], fewest: Number.MAX_SAFE_INTEGER, seen: [], read: [] },
        ...{ idle: [], idleSince: 0, waited: 0, waits: 0, waitSince: 0, waitReported: 0 },
    };
}

/** What a state tells; a new memory where it is none of this layout, or of an earlier prompt. */
export function remembered(state: Uint8Array, prompt: number): Memory {
    if (state[0] !== LAYOUT) return begin(prompt);
    let text = "";
    for (let at = 1; at < state.length; at += CHUNK) text += String.fromCharCode(...state.subarray(at, at + CHUNK));
    const memory = parsed(text);
    return memory.prompt === prompt ? memory : begin(prompt);
}

function parsed(text: string): Memory {
    try {
        return JSON.parse(text);
    } catch {
        const damaged: Failed = { tag: "invalid-input", val: "`state` is damaged: start a new session" };
        throw damaged;
    }
}

/** The state that tells of it. */
export function stateOf(memory: Memory): Uint8Array {
    forget(memory);
    // ASCII alone: a byte is a character then, which costs the least.
    const text = JSON.stringify(memory).replace(/[^\x00-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
    const bytes = new Uint8Array(text.length + 1);
    bytes[0] = LAYOUT;
    for (let at = 0; at < text.length; at += 1) bytes[at + 1] = text.charCodeAt(at);
    return bytes;
}

/** Drops the oldest of what is too much, so that the state stays small: some 24 KiB at most. */
function forget(memory: Memory): void {
    memory.files = memory.files.slice(-MOST_FILES);
    for (const file of memory.files) {
        file.whole = file.whole.slice(-MOST_STATES);
        file.parts = file.parts.slice(-MOST_CHAINS).map((states) => states.slice(-MOST_STATES));
        file.returns = Object.fromEntries(Object.entries(file.returns).slice(-MOST_STATES));
    }
    memory.failures = memory.failures.slice(-MOST_FAILURES);
    memory.seen = memory.seen.slice(-MOST_SEEN);
    memory.read = memory.read.slice(-MOST_READ);
    memory.idle = memory.idle.slice(-MOST_IDLE);
}

/** A file's memory, as the newest. */
export function fileOf(memory: Memory, path: string, step: number): FileMemory {
    const known = memory.files.find((file) => file.path === path);
    const file = known ?? { path, edits: 0, first: step, whole: [BASE], parts: [], returns: {} };
    memory.files = [...memory.files.filter((other) => other !== known), file];
    return file;
}

/** The state of a file before the agent changed it. */
export const BASE = "^";
