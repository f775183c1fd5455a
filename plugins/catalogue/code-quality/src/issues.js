// Which issues a batch of records has, and what each of them says.

import { NOTHING, placesOf, readDocument } from "./document.js";
import { placeOf } from "./paths.js";
import { isAscii } from "./text.js";

/** From the mildest to the strictest, as GitLab names them. */
export const SEVERITIES = ["info", "minor", "major", "critical", "blocker"];
const OF_VERDICTS = { warn: "minor", modify: "major", ask: "major", block: "critical" };
const OF_PATTERNS = { low: "minor", medium: "major", high: "critical", critical: "blocker" };
const VERDICTS = ["allow", ...Object.keys(OF_VERDICTS)];
const DECIDED = { warn: "warned", modify: "made safer", ask: "asked a person", block: "blocked" };
/** The most issues of a batch, of a record, and the most characters of documents that are decoded: a call has not the fuel for more. */
const MOST_ISSUES = 30;
const MOST_OF_RECORD = 8;
const MOST_DECODED = 90_000;

/** The issues of a batch, in the order of its records; where there are too many, of the gravest records, and how many records are left out. */
export function issuesOf(records, settings) {
    const from = SEVERITIES.indexOf(settings.least);
    const graves = records.map(graveness);
    const told = [...records.keys()].filter((at) => graves[at] >= from);
    const order = [...told].sort((one, other) => graves[other] - graves[one] || one - other);
    const found = new Map();
    let [count, room] = [0, MOST_DECODED];
    for (const at of order) {
        const { document, summary } = records[at];
        // Other letters than those of ASCII take several times the fuel.
        const cost = isAscii(summary) ? document.length : 4 * document.length;
        const read = cost > room ? NOTHING : readDocument(document);
        const own = findingsOf(records[at], read).filter(({ severity }) => SEVERITIES.indexOf(severity) >= from).slice(0, MOST_OF_RECORD);
        if (count + own.length >= MOST_ISSUES) break;
        room -= read === NOTHING ? 0 : cost;
        count += own.length;
        const folder = settings.root || (own.some(({ paths }) => paths.length > 0) ? folderOf(records, at, read) : "");
        found.set(at, own.map((one) => issueOf(one, records[at], folder, settings.place)));
    }
    const issues = told.flatMap((at) => found.get(at) ?? []);
    if (found.size === told.length) return issues;
    const next = order[found.size];
    return [...issues, restOf(records[next], SEVERITIES[graves[next]], told.length - found.size, settings)];
}

/** The gravest that a record can have, by what needs no document; -1 for nothing. */
function graveness({ kind, decision, detections, faults }) {
    let found = faults.length > 0 || kind.tag === "intervention" ? 0 : -1;
    if (kind.tag === "unreviewed") found = SEVERITIES.indexOf("major");
    if (decision !== null) found = Math.max(found, SEVERITIES.indexOf(OF_VERDICTS[decision.verdict]));
    return detections.reduce((most, { severity }) => Math.max(most, SEVERITIES.indexOf(OF_PATTERNS[severity])), found);
}

function issueOf({ check, number, severity, says, paths }, { id, summary }, folder, place) {
    return { id, check, number, severity, says, action: summary, path: placeOf(paths, folder) ?? place };
}

/** An issue that says that there are more. */
function restOf({ id }, severity, count, { place }) {
    const says = `${count} more records did not fit into this report`;
    return { id, check: "more", number: 0, severity, says, action: "the journal has them", path: place };
}

function findingsOf(record, read) {
    const { kind, subject, faults } = record;
    const { paths, answer } = read;
    const found = [...decidedOf(record, read), ...detectedOf(record, read)];
    if (kind.tag === "unreviewed") {
        found.push({ check: "unreviewed", severity: "major", says: "not reviewed", paths });
    } else if (kind.tag === "intervention") {
        found.push({ check: `intervention/${answer.kind || subject}`, severity: "info", says: `${answer.issue || "an issue"} was answered`, paths });
    }
    for (const { source, name, detail } of faults) {
        found.push({ check: `fault/${name}`, severity: "info", says: `${source}: ${name}: ${detail}`, paths });
    }
    return numbered(found);
}

/** One for each rule that objected, and one for a verdict that no rule accounts for. */
function decidedOf({ decision }, { mode, paths, objections }) {
    if (decision === null || decision.verdict === "allow") return [];
    const verdict = VERDICTS.indexOf(decision.verdict);
    const why = decision.reasons.join("; ") || "no reason is given";
    const how = mode === "observe" ? "only observed" : DECIDED[decision.verdict];
    let strictest = 0;
    const found = [...new Set(decision.sources)].map((check) => {
        const objection = objections.get(check);
        // What a later version names otherwise counts as what was decided.
        const own = VERDICTS.includes(objection?.verdict) ? VERDICTS.indexOf(objection.verdict) : verdict;
        strictest = Math.max(strictest, own);
        // Where an exception made it milder, what was decided in the end counts.
        return { check, severity: OF_VERDICTS[VERDICTS[Math.max(1, Math.min(own, verdict))]], says: `${how}: ${objection?.reason || why}`, paths };
    });
    if (strictest >= verdict) return found;
    // Scores account for it, or a fault.
    return [{ check: `decision/${decision.verdict}`, severity: OF_VERDICTS[decision.verdict], says: `${how}: ${why}`, paths }, ...found];
}

function detectedOf({ detections }, read) {
    return detections.map(({ pattern, severity }) => {
        const finding = read.detections.get(pattern);
        const paths = [...placesOf(finding), ...read.paths];
        return { check: `pattern/${pattern}`, severity: OF_PATTERNS[severity], says: finding?.summary || `${pattern} was seen`, paths };
    });
}

/** A record may have two findings of one name; their numbers tell them apart. */
function numbered(found) {
    const counts = new Map();
    return found.map((one) => {
        const number = counts.get(one.check) ?? 0;
        counts.set(one.check, number + 1);
        return { ...one, number };
    });
}

/** The folder of an action; that of the session's action before it for an outcome, which does not hold it. */
function folderOf(records, at, read) {
    if (read.folder !== "" || records[at].decision !== null) return read.folder;
    const { session } = records[at];
    const before = records.slice(0, at).findLast((record) => record.session === session && record.decision !== null);
    return before === undefined ? "" : readDocument(before.document).folder;
}
