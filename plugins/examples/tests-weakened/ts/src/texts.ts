// Texts without tables: a letter is an ASCII letter, the same in every language.

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

/** A text from that byte of its UTF-8 on. Only what is beyond ASCII has more bytes than it is long. */
export function fromByte(text: string, byte: number): string {
    let at = byte;
    for (const { 0: character, index } of text.matchAll(/[^\x00-\x7f]/gu)) {
        if (index >= at) break;
        at -= (character.codePointAt(0) ?? 0) < 0x800 ? 1 : 2;
    }
    return text.slice(at);
}

/** Whether bytes hold others somewhere; none are held nowhere. */
export function hold(bytes: Uint8Array, part: Uint8Array): boolean {
    const stands = (at: number) => part.every((byte, offset) => bytes[at + offset] === byte);
    return part.length > 0 && bytes.some((_, at) => stands(at));
}

/** Two texts without the lines that both begin with and both end with. */
export function changed(before: string, after: string): [string, string] {
    const [old, now] = [before.split("\n"), after.split("\n")];
    while (old.length > 0 && now.length > 0 && old.at(-1) === now.at(-1)) {
        old.pop();
        now.pop();
    }
    let same = 0;
    while (same < Math.min(old.length, now.length) && old[same] === now[same]) same += 1;
    return [old.slice(same).join("\n"), now.slice(same).join("\n")];
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
