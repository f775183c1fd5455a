// Notices that an agent is stuck, by four signs that no single step shows; ../README.md says which.
//
// It is asked only when a step has ended. What it remembers is of the time since the person's last prompt: what a
// person asks for again is no sign.

import type { Action, Context, Detection, Detector, Evidence, Report, Severity } from "portcullis:plugin/detector@0.1.0";
import host, { type Step } from "portcullis:plugin/host@0.1.0";
import { noteChanges, returnsOf } from "./edits.ts";
import { noteChange, noteLook } from "./looks.ts";
import { type FileMemory, type Failure, type Memory, remembered, stateOf } from "./memory.ts";
import { prepared, refused, settings, telling } from "./portcullis.ts";
import { noteRun } from "./runs.ts";
import { count, line, listed, place } from "./texts.ts";

const DEFAULTS = { returns: 2, failures: 5, idle: 6, wait_minutes: 30, sensitivity: "medium", severity: "high" };
const BOUNDS: [keyof typeof DEFAULTS, number, number][] = [
    ["returns", 1, 20],
    ["failures", 2, 50],
    ["idle", 3, 32],
    ["wait_minutes", 1, 1440],
];
const SENSITIVITIES: Record<string, number> = { low: 3 / 2, medium: 1, high: 2 / 3 };
const SEVERITIES: Severity[] = ["low", "medium", "high", "critical"];
/** The longest cycle that the builtin pattern `loop` sees, and how often it has to come. */
const LOOP = 4;
/** How many of the newest steps are looked through for the one that has ended. */
const NEWEST = 3;
const NOTHING: Report = { detections: [], state: null };

type Settings = typeof DEFAULTS;

export const detector = telling<Detector>({
    prepare(given) {
        const bytes = prepared(given, DEFAULTS);
        const values = settings<Settings>(bytes);
        for (const [key, least, most] of BOUNDS) {
            const value = Number(values[key]);
            if (value < least || value > most) throw refused(key, `should be from ${least} to ${most}`);
        }
        if (!(values.sensitivity in SENSITIVITIES)) throw refused("sensitivity", "should be one of `low`, `medium`, `high`");
        if (!SEVERITIES.some((known) => known === values.severity)) {
            throw refused("severity", "should be one of `low`, `medium`, `high`, `critical`");
        }
        return bytes;
    },

    detect(prepared, state, _totals, action, context) {
        const { outcome } = action;
        if (outcome === null || (outcome.status !== "ok" && outcome.status !== "failed")) return NOTHING;
        // A refused step of another agent may be newer.
        const step = host.steps(NEWEST).find(({ index }) => index === action.step);
        if (step === undefined) return NOTHING;
        const memory = remembered(state, step.prompt);
        const found = look(settings<Settings>(prepared), memory, action, context, step);
        return { detections: found, state: stateOf(memory) };
    },
});

function look(values: Settings, memory: Memory, action: Action, context: Context, step: Step): Detection[] {
    const { outcome } = action;
    if (outcome === null) return [];
    const most = (number: number, least: number) => Math.max(least, Math.round(number * (SENSITIVITIES[values.sensitivity] ?? 1)));
    const edits = memory.edits;
    // A change that failed changed nothing.
    const file = outcome.status === "ok" ? noteChanges(memory, action, context.cwd) : null;
    const lasting = noteRun(memory, action, outcome, step.error, most(values.failures, 2));
    const found: (Sign | null)[] = [
        file === null ? null : ofReturns(file, most(values.returns, 1), memory, context),
        ofFailures(lasting, most(values.failures, 2), memory, context),
    ];
    if (memory.edits > edits || file !== null) noteChange(memory);
    else found.push(...ofLooks(memory, action, context, most(values.idle, 3), most(values.wait_minutes, 1)));
    const signs = found.filter((sign) => sign !== null);
    return signs.map((sign) => detection(sign, signs.length, values.severity, action, memory));
}

/** A sign that the agent is stuck. */
interface Sign {
    /** What was tried how often, and what did not change. */
    says: string;
    first: number;
    /** How far past the threshold, in times of it. */
    excess: number;
    confidence: number;
    evidence: Evidence[];
}

function ofReturns(file: FileMemory, least: number, memory: Memory, { roots }: Context): Sign | null {
    // To and fro is one thing; from one state to different others and back may be trying things out.
    const found = returnsOf(file).find(({ total, states, most }) => (states > 1 && total >= least) || most > least);
    if (found === undefined) return null;
    const { total } = found;
    const name = line(place(file.path, roots));
    const open = memory.failures.at(-1);
    const says = `${name} goes to and fro: ${count(file.edits, "edit")}, of which ${total} brought back a state that it had`;
    const evidence = [{ kind: "path", value: file.path, step: null }];
    return { says, first: file.first, excess: total / least, confidence: open === undefined ? 700 : 850, evidence };
}

function ofFailures(failures: Failure[], least: number, memory: Memory, { roots }: Context): Sign | null {
    const [first, ...more] = failures;
    if (first === undefined) return null;
    const edits = memory.edits - first.edits;
    const files = memory.files.map((file) => line(place(file.path, roots), 40));
    const work = edits === 0 ? "with no edit between" : `after ${count(edits, "edit")} (${listed(files.reverse(), 2)})`;
    const others = more.length === 0 ? "" : ` and ${more.length} more`;
    const says = `${line(first.id, 80)}${others} failed in ${first.runs} runs (${listed([...first.programs].reverse(), 2)}) ${work}`;
    const evidence: Evidence[] = failures.slice(0, 4).map(({ id }) => ({ kind: "error", value: id, step: null }));
    evidence.push(...first.programs.map((program) => ({ kind: "command", value: program, step: null })));
    return { says, first: first.first, excess: Math.max(first.same / least, first.runs / (2 * least)), confidence: 700, evidence };
}

function ofLooks(memory: Memory, action: Action, { roots }: Context, idle: number, minutes: number): Sign[] {
    if (action.outcome === null) return [];
    const { grew, waits } = noteLook(memory, action, action.outcome, roots);
    const found: Sign[] = [];
    const again = Math.ceil(idle / 2);
    const size = memory.idle.length;
    if (grew && size >= idle && (size - idle) % again === 0 && !isLoop(memory, size)) {
        const says = `the last ${size} steps told nothing new and changed no file: ${listed(counted(memory.idle), 3)}`;
        const evidence = [...new Set(memory.idle)].slice(0, 4).map((value) => ({ kind: "command", value, step: null }));
        found.push({ says, first: memory.idleSince, excess: size / idle, confidence: 750, evidence });
    }
    const waited = Math.floor(memory.waited / 60_000);
    if (waits && waited >= minutes && waited >= memory.waitReported + minutes) {
        memory.waitReported = waited;
        const says = `${waited} minutes were waited in ${count(memory.waits, "step")} without a change of any file`;
        const evidence = [{ kind: "growth", value: `${waited} minutes`, step: null }];
        found.push({ says, first: memory.waitSince, excess: waited / minutes, confidence: 600, evidence });
    }
    return found;
}

/** The same few steps with the same results in a row, which the builtin pattern `loop` reports. */
function isLoop(memory: Memory, size: number): boolean {
    const steps = host.steps(Math.max(size, LOOP * LOOP));
    const same = (one: Step, other: Step | undefined) =>
        one.identity === other?.identity && one.output === other.output && one.error === other.error && one.prompt === memory.prompt;
    for (let length = 1; length <= LOOP; length += 1) {
        const run = steps.slice(-length * LOOP);
        if (run.length === length * LOOP && run.every((step, at) => at < length || same(step, run[at - length]))) return true;
    }
    return false;
}

/** `reading a.py (3 times)`, the most frequent first. */
function counted(labels: string[]): string[] {
    const times = new Map<string, number>();
    for (const label of labels) times.set(label, (times.get(label) ?? 0) + 1);
    const sorted = [...times].sort(([, one], [, other]) => other - one);
    return sorted.map(([label, number]) => (number === 1 ? label : `${label} (${number} times)`));
}

function detection(sign: Sign, signs: number, worst: string, action: Action, memory: Memory): Detection {
    const open = memory.failures.at(-1);
    const still = open === undefined || sign.evidence.some(({ value }) => value === open.id) ? "" : `; still failing: ${line(open.id)}`;
    const level = sign.excess >= 2 || signs > 1 ? 2 : 1;
    return {
        pattern: "stuck_agent",
        severity: SEVERITIES[Math.min(level, SEVERITIES.findIndex((known) => known === worst))] ?? "low",
        confidence: sign.confidence,
        impact: Math.min(1000, Math.round(300 * sign.excess)),
        firstStep: sign.first,
        summary: `${sign.says}${still}; say what is known, and try another way or ask`,
        evidence: sign.evidence.map((one) => ({ ...one, step: one.step ?? action.step })),
    };
}
