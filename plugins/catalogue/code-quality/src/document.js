// What only a record's document tells. Its form is the journal's and may change: what is not there is empty.

/** The longest document that is decoded, in characters: a call has not the fuel for more. */
const MOST_DOCUMENT = 65_536;
/** What matters most of an action comes first. */
const EFFECTS = ["file-delete", "discard", "file-modify", "file-create", "file-read"];
export const NOTHING = { mode: "", folder: "", paths: [], objections: new Map(), detections: new Map(), answer: { kind: "", issue: "" } };

/**
 * The mode in which it was decided, the folder in which an action ran, the paths that it touches, the objections by `PLUGIN/RULE`, the
 * detections by pattern, and what answered an issue.
 */
export function readDocument(text) {
    const document = text.length > MOST_DOCUMENT ? null : decode(text);
    if (document === null) return NOTHING;
    const { mode, action, findings, detections, intervention } = document;
    return {
        mode: textOr(mode),
        folder: textOr(action?.cwd),
        paths: pathsOf(action?.facts),
        objections: byName(listOr(findings?.objections), ({ source, rule }) => `${source}/${rule}`),
        detections: byName(listOr(detections).map(({ finding }) => finding), (finding) => finding?.pattern),
        answer: { kind: textOr(intervention?.kind), issue: textOr(intervention?.issue) },
    };
}

/** The paths that evidence names. */
export function placesOf(finding) {
    return listOr(finding?.evidence).filter(({ kind }) => kind === "path").map(({ value }) => textOr(value));
}

/** The paths that an action touches, those that it deletes or changes first. */
function pathsOf(facts) {
    const paths = listOr(facts?.paths);
    const ranks = paths.map(() => EFFECTS.length);
    for (const { kind, path } of listOr(facts?.effects)) {
        const rank = EFFECTS.indexOf(kind);
        if (rank >= 0 && path in ranks) ranks[path] = Math.min(ranks[path], rank);
    }
    const order = [...paths.keys()].sort((one, other) => ranks[one] - ranks[other] || one - other);
    return order.filter((at) => !paths[at].glob).map((at) => textOr(paths[at].text));
}

function byName(list, nameOf) {
    const found = new Map();
    for (const one of list) if (!found.has(nameOf(one))) found.set(nameOf(one), one);
    return found;
}

function textOr(value) {
    return typeof value === "string" ? value : "";
}

function listOr(value) {
    return Array.isArray(value) ? value.filter((one) => one instanceof Object) : [];
}

function decode(text) {
    try {
        const document = JSON.parse(text);
        return document instanceof Object ? document : null;
    } catch {
        return null;
    }
}
