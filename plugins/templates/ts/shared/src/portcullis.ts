// What a plugin in TypeScript needs most: its settings checked, and what an action touches. Records have camelCase
// keys, absent values are null, variants are { tag, val }, enumerations are their names; types/plugin.d.ts documents
// them all.

import host from "portcullis:plugin/host@0.1.0";
import type { Action, Attribute, EffectKind, Error as Failure, Evidence, Path, Setting, SettingValue } from "portcullis:plugin/types@0.1.0";

/** The most that is told of an error, in characters and in calls that led to it. */
const MOST_SAID = 200;
const MOST_PLACES = 4;

/**
 * What a plugin exports, with the words and places of an error that one of its functions throws written to the log: by
 * itself it is a trap that says nothing. What `refused` made is no such error.
 */
export function telling<T extends object>(functions: T): T {
    return new Proxy(functions, {
        get(target, name) {
            const call: unknown = Reflect.get(target, name);
            return typeof call === "function" ? (...given: unknown[]) => told(() => call.apply(target, given)) : call;
        },
    });
}

function told<T>(call: () => T): T {
    try {
        return call();
    } catch (error) {
        if (error instanceof Error) host.log("error", [...String(error)].slice(0, MOST_SAID).join("") + placesOf(error));
        throw error;
    }
}

/** Where it was thrown, innermost first: `, at plugin.js:20 (assess)`; lines are those of what tsc wrote. */
function placesOf(error: Error): string {
    const calls = [...(error.stack ?? "").matchAll(/at (.+?) \(\/?(.+?):(\d+)(:\d+)?\)/g)];
    const own = calls.filter(([, , file]) => !file?.endsWith("/portcullis.js"));
    const places = own.slice(0, MOST_PLACES).map(([, name, file, line]) => `${file}:${line} (${name})`);
    return places.length === 0 ? "" : `, at ${places.join(", ")}`;
}

/** What a setting may be: its default tells its type. A number is an integer. */
export type Values = Record<string, string | number | boolean | string[]>;

/** Says that a setting cannot be used, and what would be right: `throw refused(...)`. */
export function refused(key: string, reason: string): Failure {
    return { tag: "invalid-setting", val: { key, reason } };
}

/** What `prepare` returns: every setting that `defaults` names, as the operator gave it. */
export function prepared(given: Setting[], defaults: Values): Uint8Array {
    const values: Values = { ...defaults };
    for (const { key, value } of given) {
        const usual = defaults[key];
        if (usual === undefined || !Object.hasOwn(defaults, key)) {
            throw refused(key, `unknown; this plugin knows ${Object.keys(defaults).map((name) => `\`${name}\``).join(", ") || "none"}`);
        }
        const type = typeOf(usual);
        if (value.tag !== type) throw refused(key, `is ${value.tag}, should be ${type}`);
        values[key] = value.val;
    }
    return bytesOf(JSON.stringify(values));
}

/** What `prepared` wrote: `settings<typeof DEFAULTS>(prepared)`. */
export function settings<T extends Values>(prepared: Uint8Array): T {
    return JSON.parse(textOf(prepared));
}

/** A text as UTF-8: QuickJS has no TextEncoder. */
export function bytesOf(text: string): Uint8Array {
    const bytes: number[] = [];
    for (const character of text) {
        const code = character.codePointAt(0) ?? 0;
        const tail = (shift: number) => 0x80 | ((code >> shift) & 0x3f);
        if (code < 0x80) bytes.push(code);
        else if (code < 0x800) bytes.push(0xc0 | (code >> 6), tail(0));
        else if (code < 0x10000) bytes.push(0xe0 | (code >> 12), tail(6), tail(0));
        else bytes.push(0xf0 | (code >> 18), tail(12), tail(6), tail(0));
    }
    return new Uint8Array(bytes);
}

/** The text that bytes of UTF-8 are. */
export function textOf(bytes: Uint8Array): string {
    return decodeURIComponent(Array.from(bytes, (byte) => `%${byte.toString(16).padStart(2, "0")}`).join(""));
}

/** A path that an action touches, and what is done to it. */
export interface Touched {
    effect: EffectKind["tag"];
    path: Path;
}

/** Every path that the action touches. */
export function touched(action: Action): Touched[] {
    const { effects, paths } = action.facts;
    return effects.flatMap((effect) => {
        const path = effect.path === null ? undefined : paths[effect.path];
        return path ? [{ effect: effect.kind.tag, path }] : [];
    });
}

/** The value of an attribute; null if the host has none of that name, as older ones may. */
export function attribute(attributes: Attribute[], name: string): string | null {
    return attributes.find((one) => one.name === name)?.value ?? null;
}

/** A point in favour of a finding. */
export function evidence(kind: string, value: string): Evidence {
    return { kind, value, step: null };
}

function typeOf(value: Values[string]): SettingValue["tag"] {
    switch (typeof value) {
        case "string":
            return "text";
        case "number":
            return "integer";
        case "boolean":
            return "flag";
        default:
            return "texts";
    }
}
