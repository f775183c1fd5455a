// Which test cases a batch of records has, and what each of them is.

import type { AuditRecord, Decision, Detected } from "portcullis:plugin/exporter@0.1.0";
import { answerOf, fileOf, modeOf, reviewOf, statusOf, summaryOf } from "./document.ts";

export interface Settings {
    /** Verdicts, and severities of patterns. */
    failure_on: string[];
    passes: boolean;
    files: boolean;
    [name: string]: string | number | boolean | string[];
}

/** Why a case has not passed. */
export interface Result {
    is: "failure" | "error" | "skipped";
    /** One of a few words: some receivers convert a text by its type. */
    type: string;
}

export interface Case {
    name: string;
    /** What acted, or in which way something was noticed. */
    group: string;
    file: string | null;
    ms: number;
    result: Result | null;
    /** What there is to say, the most important first; of a result there is something. */
    says: string[];
    faults: string[];
}

/** The records of a session, with its cases. */
export interface Suite {
    session: string;
    records: AuditRecord[];
    cases: Case[];
}

/** The most patterns of a record, and the most faults. */
const MOST_NOTICED = 8;
/** The end of the year 9999, the last that a time has a form for. */
const LAST_TIME = 253_402_300_799_999;

/** A suite for each session, in the order in which they begin. */
export function suitesOf(records: AuditRecord[], settings: Settings): Suite[] {
    const ends = endsOf(records);
    const suites = new Map<string, Suite>();
    for (const record of records) {
        let suite = suites.get(record.session);
        if (suite === undefined) suites.set(record.session, (suite = { session: record.session, records: [], cases: [] }));
        suite.records.push(record);
        addCases(suite.cases, record, ends.get(record.id), settings);
    }
    return [...suites.values()];
}

/** The outcomes by the ids of the reviews. Where an outcome names none, the first of several like actions that waits has ended. */
function endsOf(records: AuditRecord[]): Map<string, AuditRecord> {
    const waiting = new Map<string, string[]>();
    const ends = new Map<string, AuditRecord>();
    for (const record of records) {
        if (record.decision === null && record.kind.tag !== "outcome") continue;
        const named = record.decision === null ? reviewOf(record.document) : "";
        if (named !== "") {
            ends.set(named, record);
            continue;
        }
        const action = `${record.session}\n${record.agent ?? ""}\n${record.subject}\n${record.summary}`;
        const reviews = waiting.get(action);
        if (record.decision === null) {
            const review = reviews?.shift();
            if (review !== undefined) ends.set(review, record);
        } else if (reviews === undefined) waiting.set(action, [record.id]);
        else reviews.push(record.id);
    }
    return ends;
}

/** The time in the form of ISO 8601, UTC. */
export function isoTime(at: number): string {
    return new Date(Math.min(at, LAST_TIME)).toISOString();
}

/** Adds the case of a record, and one for each pattern that was detected with it. */
function addCases(cases: Case[], record: AuditRecord, ended: AuditRecord | undefined, settings: Settings): void {
    const own = ownCase(record, ended, settings);
    if (own !== null) cases.push(own);
    const noticed = Math.min(record.detections.length, MOST_NOTICED);
    for (let at = 0; at < noticed; at += 1) {
        const detected = record.detections[at];
        if (detected !== undefined) cases.push(patternCase(record, detected, at + 1, settings));
    }
}

function ownCase(record: AuditRecord, ended: AuditRecord | undefined, settings: Settings): Case | null {
    switch (record.kind.tag) {
        case "unreviewed":
            return unreviewedCase(record);
        case "intervention":
            return interventionCase(record);
        case "fault":
            return faultCase(record);
        default:
            return record.decision === null ? null : reviewCase(record, record.decision, ended, settings);
    }
}

function reviewCase(record: AuditRecord, decision: Decision, ended: AuditRecord | undefined, settings: Settings): Case | null {
    const { verdict, reasons, sources } = decision;
    const status = ended === undefined ? "" : statusOf(ended.document, ended.summary);
    const isRefused = status === "refused";
    const faults = faultsOf(record);
    if (verdict === "allow" && !settings.passes && !isRefused && faults.length === 0) return null;
    const own = blankCase(record, record.subject, record.summary);
    own.faults = faults;
    if (settings.files) own.file = fileOf(record.document);
    if (ended !== undefined) own.ms = Math.max(0, ended.at - record.at);
    if (settings.failure_on.includes(verdict)) own.result = { is: "failure", type: verdict };
    else if (isRefused) own.result = { is: "skipped", type: "refused" };
    if (own.result?.is === "skipped") own.says.push("it never ran: a person or the client refused it");
    if (verdict !== "allow") {
        own.says.push(...(reasons.length > 0 ? reasons : [`the verdict is ${verdict}`]));
        if (sources.length > 0) own.says.push(`by ${[...new Set(sources)].join(", ")}`);
        own.says.push(scoresOf(decision));
        if (modeOf(record.document, record.summary) === "observe") own.says.push("it was only observed: nothing was held");
    }
    if (status !== "" && status !== "ok") own.says.push(`it ended: ${status}`);
    // An allowed action that ended well has nothing to say.
    if (own.says.length > 0) own.says.push(...placeOf(record));
    return own;
}

function unreviewedCase(record: AuditRecord): Case {
    const status = statusOf(record.document, record.summary);
    const says = ["it was not reviewed", ...(status === "" ? [] : [`it ended: ${status}`]), ...placeOf(record)];
    return { ...blankCase(record, record.subject, record.summary), result: { is: "error", type: "unreviewed" }, says, faults: faultsOf(record) };
}

function interventionCase(record: AuditRecord): Case {
    const { kind, issue } = answerOf(record.document);
    const own = blankCase(record, "intervention", `${kind || record.subject}${issue === "" ? "" : `, for ${issue}`}`);
    const says = [record.summary || "an issue was answered", ...placeOf(record)];
    return { ...own, result: { is: "skipped", type: "intervention" }, says, faults: faultsOf(record) };
}

function faultCase(record: AuditRecord): Case {
    const says = [...faultsOf(record), ...placeOf(record)];
    return { ...blankCase(record, "fault", record.summary), result: { is: "error", type: "fault" }, says };
}

function patternCase(record: AuditRecord, { pattern, severity, confidence }: Detected, number: number, settings: Settings): Case {
    const summary = summaryOf(record.document, pattern) || `it was seen: ${record.summary}`;
    const is = settings.failure_on.includes(severity) ? "failure" : "skipped";
    const says = [summary, `severity ${severity}, confidence ${share(confidence)}`, ...placeOf(record)];
    return { ...blankCase(record, "pattern", pattern, number), result: { is, type: severity }, says };
}

/** A case that passes. Receivers leave out one whose name another one has, so a name begins with what only this one has. */
function blankCase({ sequence }: AuditRecord, group: string, what: string, number?: number): Case {
    const name = `${number === undefined ? sequence : `${sequence}.${number}`}. ${what}`;
    return { name, group, file: null, ms: 0, result: null, says: [], faults: [] };
}

function faultsOf({ faults }: AuditRecord): string[] {
    return faults.slice(0, MOST_NOTICED).map(({ source, name, detail }) => `${source}: ${name}: ${detail}`);
}

/** Where the journal has it. */
function placeOf({ sequence, id, at, agent }: AuditRecord): string[] {
    return [...(agent === null ? [] : [`agent ${agent}`]), `record ${sequence}, ${id}, ${isoTime(at)}`];
}

function scoresOf({ verdict, risk, rationality, confidence }: Decision): string {
    return `verdict ${verdict}, risk ${share(risk)}${rationality === null ? "" : `, rationality ${share(rationality)}`}, confidence ${share(confidence)}`;
}

function share(thousandths: number): string {
    return (thousandths / 1000).toString();
}
