// Texts: fingerprints, what is compared of a result, and how things are named to a person.

import type { Outcome } from "portcullis:plugin/types@0.1.0";

/** What is looked at of a long text: its beginning and its end. */
const END = 1024;
/** The most characters of a name in a sentence. */
const MOST_NAME = 70;
const VARYING = [
    // 2026-01-01T12:00:00Z, 12:00:00
    /\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z?)?|\d\d?:\d\d(?::\d\d(?:\.\d+)?)?/g,
    // 5m10s, 0.31 s, 3 minutes
    /\b(?:\d+(?:\.\d+)?\s?(?:ms|seconds?|secs?|minutes?|mins?|hours?|days?|[smhd])(?![a-zA-Z])\s?)+/g,
    /\b0x[0-9a-f]+\b/g,
];

/** A short fingerprint. Of a long text both ends and the length count: what is compared differs there. */
export function hash(text: string): string {
    const part = text.length > 4 * END ? `${text.length}:${ends(text, 2 * END)}` : text;
    let sum = 0x811c9dc5;
    for (let at = 0; at < part.length; at += 1) sum = Math.imul(sum ^ part.charCodeAt(at), 0x01000193);
    return (sum >>> 0).toString(36);
}

/** What a result says, without what differs each time: times, durations, addresses. */
export function hashResult(outcome: Outcome): string {
    const said = ends(outcome.error, END) + ends(outcome.output, END);
    return hash(outcome.status + VARYING.reduce((text, varying) => text.replace(varying, "~"), said));
}

function ends(text: string, size: number): string {
    return text.length > 2 * size ? text.slice(0, size) + text.slice(-size) : text;
}

/** A path as a person names it: within the project from its root on. */
export function place(path: string, roots: string[]): string {
    const root = roots.find((root) => path.startsWith(`${root}/`));
    return root === undefined ? path : path.slice(root.length + 1);
}

/** One line of at most `most` characters. */
export function line(text: string, most = MOST_NAME): string {
    const plain = text.replace(/[\s\p{Cc}]+/gu, " ").trim();
    const characters = [...plain.slice(0, 2 * most)];
    return characters.length > most ? `${characters.slice(0, most - 1).join("")}…` : plain;
}

/** `1 edit`, `3 edits`. */
export function count(number: number, thing: string): string {
    return `${number} ${thing}${number === 1 ? "" : "s"}`;
}

/** The first few of some names, and how many more there are. */
export function listed(names: string[], most: number): string {
    const unique = [...new Set(names)];
    const more = unique.length - most;
    return unique.slice(0, most).join(", ") + (more > 0 ? ` and ${more} more` : "");
}
