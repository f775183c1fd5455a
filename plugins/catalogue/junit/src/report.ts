// A batch of records as a document.

import type { AuditRecord } from "portcullis:plugin/exporter@0.1.0";
import { isoTime, suitesOf, type Case, type Result, type Settings, type Suite } from "./cases.ts";
import { attribute } from "./portcullis.ts";
import { escape, firstLine } from "./xml.ts";

/** How many characters the names of a batch share, and what its cases say: a call has not the fuel for more. */
const ALL_CHARACTERS = 8000;
const LEAST_CHARACTERS = 120;
/** The most characters of one name, of one message, and of what one case says. */
const MOST_NAME = 160;
const MOST_MESSAGE = 240;
const MOST_TEXT = 2000;

/** The parts of classes' names that this call has written. */
const classes = new Map<string, string>();

/** How much of each text a batch has room for. */
interface Room {
    name: number;
    message: number;
    text: number;
}

export function write(records: AuditRecord[], settings: Settings): string {
    const suites = suitesOf(records, settings);
    const cases = suites.flatMap((suite) => suite.cases);
    const texts = cases.reduce((sum, { says, faults }) => sum + Math.sign(says.length) + Math.sign(faults.length), 0);
    const room = { name: share(cases.length, MOST_NAME), message: Math.min(MOST_MESSAGE, share(2 * texts, MOST_TEXT)), text: share(texts, MOST_TEXT) };
    const { tests, failures, errors, time } = countsOf(cases);
    const parts = suites.map((suite) => writeSuite(suite, room));
    const head = `<testsuites name="Portcullis" tests="${tests}" failures="${failures}" errors="${errors}" time="${time}"`;
    return `<?xml version="1.0" encoding="UTF-8"?>\n${head}${parts.length === 0 ? "/>" : `>\n${parts.join("")}</testsuites>`}\n`;
}

/** What one of several texts gets of what they share. */
function share(texts: number, most: number): number {
    return Math.min(most, Math.max(LEAST_CHARACTERS, Math.floor(ALL_CHARACTERS / Math.max(texts, 1))));
}

function writeSuite({ session, records, cases }: Suite, room: Room): string {
    const [first] = records;
    const last = records.at(-1);
    if (first === undefined || last === undefined) return "";
    const { tests, failures, errors, skipped, time } = countsOf(cases);
    const name = escape(session, MOST_NAME) || "no session";
    const host = escape(attribute(first.attributes, "host") ?? "", MOST_NAME) || "localhost";
    // The parts of a session that is longer than a batch have one name; some receivers tell them apart by `id`.
    const when = `time="${time}" timestamp="${isoTime(first.at).slice(0, 19)}" hostname="${host}" id="${first.sequence}"`;
    const head = `<testsuite name="${name}" tests="${tests}" failures="${failures}" errors="${errors}" skipped="${skipped}" ${when}>\n`;
    const properties = [
        writeProperty("records", `${first.sequence} to ${last.sequence}`),
        writeProperty("client", attribute(first.attributes, "client")),
        writeProperty("journal", attribute(first.attributes, "journal")),
    ];
    return `${head}<properties>${properties.join("")}</properties>\n${cases.map((one) => writeCase(one, room)).join("")}</testsuite>\n`;
}

function writeProperty(name: string, value: string | null): string {
    return value ? `<property name="${name}" value="${escape(value, MOST_NAME)}"/>` : "";
}

function writeCase({ name, group, file, ms, result, says, faults }: Case, room: Room): string {
    const classname = `portcullis.${classOf(group)}`;
    const place = file === null ? "" : ` file="${escape(file, MOST_MESSAGE)}"`;
    const head = `<testcase name="${escape(name, room.name)}" classname="${classname}"${place} time="${seconds(ms)}"`;
    const text = says.length === 0 ? "" : escape(says.join("\n"), room.text);
    const errors = faults.length === 0 ? "" : `<system-err>${escape(faults.join("\n"), room.text)}</system-err>`;
    const content = writeResult(result, text, room) + errors;
    return content === "" ? `${head}/>\n` : `${head}>${content}</testcase>\n`;
}

/** The last part of a class's name: a dot would begin a package. */
function classOf(group: string): string {
    const known = classes.get(group) ?? (group.slice(0, MOST_NAME).replace(/[^\w-]/g, "_") || "action");
    classes.set(group, known);
    return known;
}

function writeResult(result: Result | null, text: string, room: Room): string {
    if (result === null) return text === "" ? "" : `<system-out>${text}</system-out>`;
    const { is, type } = result;
    return `<${is} type="${type}" message="${firstLine(text, room.message)}">${text}</${is}>`;
}

function countsOf(cases: Case[]): { tests: number; failures: number; errors: number; skipped: number; time: string } {
    const counts = { failure: 0, error: 0, skipped: 0 };
    let ms = 0;
    for (const one of cases) {
        if (one.result !== null) counts[one.result.is] += 1;
        ms += one.ms;
    }
    return { tests: cases.length, failures: counts.failure, errors: counts.error, skipped: counts.skipped, time: seconds(ms) };
}

function seconds(ms: number): string {
    return (ms / 1000).toFixed(3);
}
