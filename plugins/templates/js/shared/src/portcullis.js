// What a plugin in JavaScript needs most: its settings checked, and what an action touches. Records have camelCase
// keys, absent values are null, variants are { tag, val }, enumerations are their names; wit/*.wit documents them all.

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
    // Letters beyond ASCII are spelled out, so that a character is a byte.
    const text = JSON.stringify(values).replace(/[\u0080-\uffff]/g, (c) => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"));
    return Uint8Array.from(text, (c) => c.charCodeAt(0));
}

/** What `prepared` wrote. */
export function settings(prepared) {
    return JSON.parse(Array.from(prepared, (byte) => String.fromCharCode(byte)).join(""));
}

/** Every path that the action touches, with what it does to it: `file-read`, `file-modify`, `file-delete`, ... */
export function touched(action) {
    const { effects, paths } = action.facts;
    return effects.filter((effect) => effect.path !== null).map((effect) => ({ effect: effect.kind.tag, path: paths[effect.path] }));
}

/** A point in favour of a finding. */
export function evidence(kind, value) {
    return { kind, value, step: null };
}

function typeOf(value) {
    if (Array.isArray(value)) return "texts";
    return { string: "text", number: "integer", boolean: "flag" }[typeof value];
}
