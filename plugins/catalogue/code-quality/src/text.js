// Text in a report: one line, of a bounded length, with nothing that a reader takes for markup.
//
// A regular expression takes hundreds of units of fuel a character, so each text is looked at once.

const SPECIAL = /[^ !#-[\]-~]/u;
/** A match takes ten times the fuel of a character in it. */
const RUNS = /[^ !#-[\]-~]+/gu;
const BREAK = /[\t-\r\x85\u2028\u2029]/;
/** What nobody sees, or what turns the text around it. */
const HIDDEN = /[\x00-\x1f\x7f-\x9f\p{Cf}\p{Cs}\ufffe\uffff]/u;
/** A tag, and a placeholder of GitLab's, which merge requests have shown as what they mean. */
const MARKUP = /<(?=[A-Za-z/!?])|%(?=\{)/g;
const INDEXES = Uint8Array.from({ length: 256 }, (_, at) => at);
const WRITTEN = new Map();

/** The beginning of a text as it stands in a string of JSON in ASCII. */
export function quote(text, most) {
    // An escape has six characters.
    const part = cut(text, isAscii(text.slice(0, most)) ? most : most >> 1);
    const line = SPECIAL.test(part) ? part.replace(RUNS, (run) => Array.from(run, written).join("")) : part;
    return hasMarkup(line) ? line.replace(MARKUP, "$& ") : line;
}

/** Whether it is a line that `quote` only escapes. */
export function isPlain(text) {
    const isHidden = (character) => BREAK.test(character) || HIDDEN.test(character);
    return !(hasMarkup(text) && text.search(MARKUP) >= 0) && !(SPECIAL.test(text) && [...text].some(isHidden));
}

/** Whether it has letters of ASCII alone. */
export function isAscii(text) {
    return !/[^\x00-\x7f]/.test(text);
}

function hasMarkup(text) {
    return text.includes("<") || text.includes("%{");
}

/** The beginning of a text, and no half of a character. */
function cut(text, most) {
    if (text.length <= most) return text;
    const part = text.slice(0, most - 3);
    return `${/[\ud800-\udbff]/.test(part.slice(-1)) ? part.slice(0, -1) : part}...`;
}

/** A character in a string of JSON. */
function written(character) {
    const known = WRITTEN.get(character);
    if (known !== undefined) return known;
    const made = write(character);
    WRITTEN.set(character, made);
    return made;
}

function write(character) {
    if (BREAK.test(character)) return " ";
    if (HIDDEN.test(character)) return `\\\\u{${character.codePointAt(0).toString(16)}}`;
    if (character < "\x80") return `\\${character}`;
    return character.split("").map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`).join("");
}

/** The bytes of a text in ASCII. A loop of ours takes three times the fuel of these calls. */
export function asciiBytes(text) {
    const bytes = new Uint8Array(text.length);
    for (let at = 0; at < text.length; at += INDEXES.length) {
        const part = text.slice(at, at + INDEXES.length);
        bytes.set(INDEXES.subarray(0, part.length).map(String.prototype.charCodeAt, part), at);
    }
    return bytes;
}

/** 16 hex digits, the same for the same text, and another text's by chance alone. No protection against one who tries. */
export function digest(text) {
    let [a, b] = [0x9e3779b9, 0x85ebca6b];
    for (let at = 0; at < text.length; at += 1) {
        const code = text.charCodeAt(at);
        a = Math.imul(a ^ code, 0x01000193);
        b = Math.imul(b ^ code ^ (a >>> 15), 0x5bd1e995);
    }
    const halves = [a ^ (b >>> 13), b ^ (a >>> 16)];
    return halves.map((half) => (Math.imul(half ^ (half >>> 15), 0x2c1b3c6d) >>> 0).toString(16).padStart(8, "0")).join("");
}
