// What only a record's document tells. Decoding a hundred documents takes more fuel than a call has, so single fields are read. No text in a
// document looks like a field: its quotation marks are escaped.

/** A JSON text from its first quotation mark on. */
const TEXT = /"(?:[^"\\]|\\.)*"/y;
/** The longest facts that are decoded, in characters. */
const MOST_FACTS = 16_384;
/** Effects in the order in which their paths are told: what is lost, what is changed, what is read. */
const EFFECTS = ["file-delete", "discard", "file-modify", "file-create", "file-read"];

/** How an action ended, which stands after the summary; empty where it is not known. */
export function statusOf(document: string, summary: string): string {
    const start = document.indexOf('"outcome":{', summary.length);
    return start < 0 ? "" : textAt(document, '"status":', document.indexOf('"status":"', start));
}

/** The id of the review of an action that ended, which stands at the end; empty where it is not known. */
export function reviewOf(document: string): string {
    const start = document.lastIndexOf('"details":{');
    return start < 0 ? "" : textAt(document, '"review":', document.indexOf('"review":"', start));
}

/** The mode in which it was decided, which stands after the summary. */
export function modeOf(document: string, summary: string): string {
    return textAt(document, '"mode":', document.indexOf('"mode":"', summary.length));
}

/** What a pattern says of what it saw. */
export function summaryOf(document: string, pattern: string): string {
    const start = document.indexOf('"detections":[{');
    const finding = start < 0 ? -1 : document.indexOf(`"pattern":${JSON.stringify(pattern)}`, start);
    return finding < 0 ? "" : textAt(document, '"summary":', document.indexOf('"summary":"', finding));
}

/** The kind of an intervention, and the issue that it answers. */
export function answerOf(document: string): { kind: string; issue: string } {
    const start = document.indexOf('"intervention":{');
    const read = (name: string) => (start < 0 ? "" : textAt(document, name, document.indexOf(`${name}"`, start)));
    return { kind: read('"kind":'), issue: read('"issue":') };
}

/** The file that an action touches, as a person in its folder names it: what it deletes or changes first. Null where there is none. */
export function fileOf(document: string): string | null {
    const start = document.indexOf('"facts":{');
    const end = start < 0 ? -1 : document.indexOf(',"cwd":"', start);
    if (end < 0 || end - start > MOST_FACTS) return null;
    const { paths = [], effects = [] } = decoded<Facts>(document.slice(start + 8, end)) ?? {};
    const folder = textAt(document, '"cwd":', end + 1).replace(/\/*$/, "/");
    for (const kind of EFFECTS) {
        for (const effect of effects) {
            const path = effect.kind === kind && effect.path !== null ? paths[effect.path] : undefined;
            if (path !== undefined && !path.glob) return path.text.startsWith(folder) ? path.text.slice(folder.length) : path.text;
        }
    }
    return null;
}

interface Facts {
    paths?: { text: string; glob: boolean }[];
    effects?: { kind: string; path: number | null }[];
}

/** The text of a field that begins there; empty where there is none. */
function textAt(document: string, field: string, start: number): string {
    if (start < 0) return "";
    const at = start + field.length;
    const text = document.slice(at + 1, document.indexOf('"', at + 1));
    if (!text.includes("\\")) return text;
    TEXT.lastIndex = at;
    const found = TEXT.exec(document);
    return (found === null ? null : decoded<string>(found[0])) ?? "";
}

/** A JSON value; null for what is none, since a later version may write a document in another form. */
function decoded<T>(text: string): T | null {
    try {
        return JSON.parse(text);
    } catch {
        return null;
    }
}
