// XML in which no text is markup: neither for a parser nor for a receiver that looks into texts. What is written is ASCII, so that nobody can
// take it for another encoding.

/** What does not stand for itself; a larger character comes in two halves. */
const SPECIAL = /[\x00-\x1f"&'<>[\x7f-\uffff]/g;
const MARKS: Record<string, string> = { "\n": "\n", "\t": "\t", "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;" };
/** What XML 1.0 has no place for, and what nobody sees or what turns the text around it. */
const HIDDEN = /[\x00-\x1f\x7f-\x9f\p{Cf}\p{Cs}\p{Zl}\p{Zp}\ufffe\uffff]/u;
/** Receivers take `[[ATTACHMENT|PATH]]` in a text for a file that they should show, and other words for other things. */
const DIRECTIVE = /\[\[\s*[\w-]+\s*\|/y;
/** Where a text goes on. */
const CUT = "&#8230;";
/** How many characters of a document are written as something else: a call has not the fuel for any number. The rest is told in short. */
const MOST_REFERENCES = 2000;
const SHORT = 80;
const ALL_BUT_WORDS = /[^\w .:/=-]+/g;
/** How many there were in this document. */
let references = 0;

declare global {
    function btoa(text: string): string;
    interface Uint8ArrayConstructor {
        fromBase64(text: string): Uint8Array;
    }
}

/** The beginning of a text, as it can stand in an element or an attribute; in an attribute its lines become blanks. */
export function escape(text: string, most: number): string {
    if (references > MOST_REFERENCES) return text.slice(0, Math.min(most, SHORT)).replace(ALL_BUT_WORDS, "_");
    return text.length <= most ? text.replace(SPECIAL, reference) : beginning(text, most - 1).replace(SPECIAL, reference) + CUT;
}

/** The first line of what `escape` returned, of about so many characters. */
export function firstLine(escaped: string, most: number): string {
    const end = escaped.indexOf("\n");
    const line = end < 0 ? escaped : escaped.slice(0, end);
    return line.length <= most ? line : `${line.slice(0, most).replace(/&[^;]*$/, "")}${CUT}`;
}

/** So many characters, and no half of one. */
function beginning(text: string, most: number): string {
    const last = text.charCodeAt(most - 1);
    return text.slice(0, last >= 0xd800 && last <= 0xdbff ? most - 1 : most);
}

/** The bytes of a document, which is ASCII. Both calls are the engine's own; a loop takes twenty times the fuel. */
export function asciiBytes(text: string): Uint8Array {
    references = 0;
    return Uint8Array.fromBase64(btoa(text));
}

function reference(character: string, at: number, text: string): string {
    references += 1;
    const mark = MARKS[character];
    if (mark !== undefined) return mark;
    if (character === "\r") return text[at + 1] === "\n" ? "" : "\n";
    if (character === "[") {
        DIRECTIVE.lastIndex = at;
        return DIRECTIVE.test(text) ? "[ " : "[";
    }
    const code = text.codePointAt(at) ?? 0;
    // The first half has told of both.
    if (code >= 0xdc00 && code <= 0xdfff && (text.codePointAt(at - 1) ?? 0) > 0xffff) return "";
    return HIDDEN.test(String.fromCodePoint(code)) ? `\\u{${code.toString(16)}}` : `&#${code};`;
}
