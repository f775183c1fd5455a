// What a plugin in JavaScript needs most: its settings checked, and what an action touches. Records have camelCase
// keys, absent values are null, variants are { tag, val }, enumerations are their names; wit/*.wit documents them all.

import host from "portcullis:plugin/host@0.1.0";

/** The most that is told of an error, in characters and in calls that led to it. */
const MOST_SAID = 200;
const MOST_PLACES = 4;

/**
 * These functions, with the words and places of an error that one of them throws written to the log: by itself it is a trap
 * that says nothing. What `refused` made is no such error.
 */
export function telling(functions) {
    const told = (call) => (...given) => {
        try {
            return call.apply(functions, given);
        } catch (error) {
            if (error instanceof Error) host.log("error", [...String(error)].slice(0, MOST_SAID).join("") + placesOf(error));
            throw error;
        }
    };
    return Object.fromEntries(Object.entries(functions).map(([name, call]) => [name, told(call)]));
}

/** Where it was thrown, innermost first: `, at src/plugin.js:20 (assess)`. */
function placesOf(error) {
    const calls = [...(error.stack ?? "").matchAll(/at (.+?) \(\/?(.+?):(\d+)(:\d+)?\)/g)].filter(([, , file]) => !file.endsWith("/portcullis.js"));
    const places = calls.slice(0, MOST_PLACES).map(([, name, file, line]) => `${file}:${line} (${name})`);
    return places.length === 0 ? "" : `, at ${places.join(", ")}`;
}

/** Says that a setting cannot be used, and what would be right: `throw refused(...)`. */
export function refused(key, reason) {
    return { tag: "invalid-setting", val: { key, reason } };
}

/** What `prepare` returns: every setting that `defaults` names, as the operator gave it. Its default tells its type. */
export function prepared(given, defaults) {
    const values = { ...defaults };
    for (const { key, value } of given) {
        if (!Object.hasOwn(defaults, key)) {
            throw refused(key, `unknown; this plugin knows ${Object.keys(defaults).map((name) => `\`${name}\``).join(", ") || "none"}`);
        }
        const type = typeOf(defaults[key]);
        if (value.tag !== type) throw refused(key, `is ${value.tag}, should be ${type}`);
        values[key] = typeof value.val === "bigint" ? Number(value.val) : value.val;
    }
    return bytesOf(JSON.stringify(values));
}

/** What `prepared` wrote. */
export function settings(prepared) {
    return JSON.parse(textOf(prepared));
}

/** A text as UTF-8, and back: QuickJS has no TextEncoder. */
export function bytesOf(text) {
    const bytes = [];
    for (const character of text) {
        const code = character.codePointAt(0);
        if (code < 0x80) bytes.push(code);
        else if (code < 0x800) bytes.push(0xc0 | (code >> 6), 0x80 | (code & 0x3f));
        else if (code < 0x10000) bytes.push(0xe0 | (code >> 12), 0x80 | ((code >> 6) & 0x3f), 0x80 | (code & 0x3f));
        else bytes.push(0xf0 | (code >> 18), 0x80 | ((code >> 12) & 0x3f), 0x80 | ((code >> 6) & 0x3f), 0x80 | (code & 0x3f));
    }
    return new Uint8Array(bytes);
}

export function textOf(bytes) {
    return decodeURIComponent(Array.from(bytes, (byte) => "%" + byte.toString(16).padStart(2, "0")).join(""));
}

/** Every path that the action touches, with what it does to it: `file-read`, `file-modify`, `file-delete`, ... */
export function touched(action) {
    const { effects, paths } = action.facts;
    return effects.filter((effect) => effect.path !== null).map((effect) => ({ effect: effect.kind.tag, path: paths[effect.path] }));
}

/** The value of an attribute; null if the host has none of that name, as older ones may. */
export function attribute(attributes, name) {
    return attributes.find((one) => one.name === name)?.value ?? null;
}

/** A point in favour of a finding. */
export function evidence(kind, value) {
    return { kind, value, step: null };
}

function typeOf(value) {
    if (Array.isArray(value)) return "texts";
    return { string: "text", number: "integer", boolean: "flag" }[typeof value];
}
