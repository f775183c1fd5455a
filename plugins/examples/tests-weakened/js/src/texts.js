// Texts without tables: a letter is an ASCII letter, the same in every language.

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

/** A text from that byte on. Only what is beyond ASCII has more bytes than it is long. */
export function fromByte(text, byte) {
    let at = byte;
    for (const { 0: character, index } of text.matchAll(/[^\x00-\x7f]/gu)) {
        if (index >= at) break;
        at -= character.codePointAt(0) < 0x800 ? 1 : 2;
    }
    return text.slice(at);
}

/** Whether bytes hold others somewhere; none are held nowhere. */
export function holds(bytes, part) {
    const stands = (at) => part.every((byte, offset) => bytes[at + offset] === byte);
    return part.length > 0 && bytes.some((_, at) => stands(at));
}
