// Texts without tables: a letter is an ASCII letter, the same in every language. A text's bytes are kept as a text too,
// of a character each.

const LETTER = /[A-Za-z]/;
const IN_NAME = /[A-Za-z0-9_$]/;

/** The words of a text, in lower case. */
export function words(text) {
    return (text.match(/[A-Za-z0-9_]+/g) ?? []).map((word) => word.toLowerCase());
}

/**
 * At how many positions `part` stands in a text. Where it begins with a letter, it stands at the beginning of a name;
 * with `whole` a dot before it makes it a part of another name too.
 */
export function count(text, part, whole) {
    const named = LETTER.test(part[0]);
    let found = 0;
    for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + 1)) {
        const before = text.charAt(at - 1);
        const inName = IN_NAME.test(before) || (whole && before === ".");
        if (!(named && inName)) found += 1;
    }
    return found;
}

/** Whether there is nothing in a text but spaces, tabs and line feeds. */
export function isBlank(text) {
    return /^[ \t\n]*$/.test(text);
}

/** The bytes of a text. */
export function bytesOf(text) {
    return encodeURIComponent(text).replace(/%(..)/g, (_, digits) => String.fromCharCode(parseInt(digits, 16)));
}

/** What those bytes are a text of. */
export function textOf(bytes) {
    return decodeURIComponent(bytes.replace(/[^]/g, (byte) => "%" + byte.charCodeAt(0).toString(16).padStart(2, "0")));
}

/** Bytes as the host takes them. */
export function toArray(bytes) {
    return Uint8Array.from(bytes, (byte) => byte.charCodeAt(0));
}

/** Bytes as the host gives them. */
export function fromArray(array) {
    return Array.from(array, (byte) => String.fromCharCode(byte)).join("");
}
