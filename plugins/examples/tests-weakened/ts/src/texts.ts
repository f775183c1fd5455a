// Texts as bytes: no tables, the same in every language. JavaScript's texts are of UTF-16, and this engine has no
// TextEncoder; where bytes count, a text is spelled with a character for each byte of its UTF-8.

/** The text's UTF-8, a character a byte. */
export function spelled(text: string): string {
    let bytes = "";
    for (const character of text) {
        const code = character.codePointAt(0) ?? 0;
        const tail = (shift: number) => String.fromCharCode(0x80 | ((code >> shift) & 0x3f));
        if (code < 0x80) bytes += character;
        else if (code < 0x800) bytes += String.fromCharCode(0xc0 | (code >> 6)) + tail(0);
        else if (code < 0x10000) bytes += String.fromCharCode(0xe0 | (code >> 12)) + tail(6) + tail(0);
        else bytes += String.fromCharCode(0xf0 | (code >> 18)) + tail(12) + tail(6) + tail(0);
    }
    return bytes;
}

/** The bytes of a spelled text. */
export function written(spelled: string): Uint8Array {
    return Uint8Array.from(spelled, (byte) => byte.charCodeAt(0));
}

/** The spelled text that bytes are. */
export function read(bytes: Uint8Array): string {
    return Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
}

/** The words of a text, in lower case. */
export function words(text: string): string[] {
    const found = [""];
    for (const character of text) {
        if (isWordly(character)) found[found.length - 1] += character;
        else if (found.at(-1) !== "") found.push("");
    }
    return found.filter((word) => word !== "").map((word) => word.toLowerCase());
}

/**
 * At how many positions `part` stands in a text. Where it begins with a letter, it stands at the beginning of a name;
 * with `whole` a dot before it makes it a part of another name too.
 */
export function count(text: string, part: string, whole: boolean): number {
    const named = isLetter(part.charAt(0));
    let found = 0;
    for (let at = text.indexOf(part); at !== -1; at = text.indexOf(part, at + 1)) {
        const before = text.charAt(at - 1);
        const inName = isWordly(before) || before === "$" || (whole && before === ".");
        if (!(named && inName)) found += 1;
    }
    return found;
}

/** The text without blanks at both ends. */
export function trimmed(text: string): string {
    let [start, end] = [0, text.length];
    while (start < end && isBlank(text.charAt(start))) start += 1;
    while (start < end && isBlank(text.charAt(end - 1))) end -= 1;
    return text.slice(start, end);
}

/** Space, tab or line feed. */
function isBlank(character: string): boolean {
    return character === " " || character === "\t" || character === "\n";
}

/** A letter, a digit or `_`. */
function isWordly(character: string): boolean {
    return isLetter(character) || (character >= "0" && character <= "9") || character === "_";
}

function isLetter(character: string): boolean {
    return isCapital(character) || (character >= "a" && character <= "z");
}

/** `A` to `Z`. */
export function isCapital(character: string): boolean {
    return character >= "A" && character <= "Z";
}
