// Steps that only look, or wait: whether they tell anything new, and how long was waited.

import type { Action, Command, Outcome, Shell } from "portcullis:plugin/types@0.1.0";
import type { Memory, Range } from "./memory.ts";
import { hash, hashResult, line, place } from "./texts.ts";

/** The end of a file, in lines. */
const END = 1e9;
const READERS = ["cat", "nl", "bat", "less", "more", "head", "tail", "sed"];
/** Commands beside a reader that show nothing of their own. */
const QUIET = ["cd", "true", ":", "pwd"];
/** What leaves the files, and what a program would make of them, as they are. */
const LOOKS = ["file-read", "network", "secret-read"];
/** Tools that ask whether something has ended. */
const POLLS = ["BashOutput", "TaskOutput", "read_bash", "AgentOutputTool", "wait", "write_stdin"];
/** Programs that wait by themselves, each with the word that says so. */
const WAITERS: [string, string[]][] = [
    ["gh", ["watch"]],
    ["kubectl", ["wait"]],
    ["tail", ["-f", "-F"]],
    ["watch", []],
    ["wait", []],
    ["inotifywait", []],
];
/** The shortest `sleep` that is waiting: after a start, a moment is usual. */
const LEAST_SLEEP = 5;

/** What the steps in a row were that told nothing new. */
export interface Idle {
    /** It is a further one. */
    grew: boolean;
    /** It waits or polls. */
    waits: boolean;
}

/** Notes a step that has ended, where it changed no file that the plugin knows of. */
export function noteLook(memory: Memory, action: Action, outcome: Outcome, roots: string[]): Idle {
    const waits = isWaiting(action);
    if (waits) noteWait(memory, action, outcome);
    const ranges = action.facts.coverage === "full" && outcome.status === "ok" ? rangesOf(action) : null;
    const key = `${hash(asked(action))}.${hashResult(outcome)}`;
    const isRead = ranges !== null && ranges.length > 0 && ranges.every((range) => covers(memory.read, range));
    const isOld = isRead || memory.seen.includes(key);
    if (!isOld) {
        // A program may have changed anything; what it told is known all the same.
        if (!isLook(action)) memory.read = [];
        memory.seen.push(key);
        memory.idle = [];
    }
    for (const range of ranges ?? []) add(memory, range);
    if (!isOld) return { grew: false, waits };
    if (memory.idle.length === 0) memory.idleSince = action.step;
    memory.idle.push(describe(action, ranges, roots));
    return { grew: true, waits };
}

/** Notes that something was changed: what was seen before is no longer what is there. */
export function noteChange(memory: Memory): void {
    Object.assign(memory, { seen: [], read: [], idle: [], waited: 0, waits: 0, waitReported: 0 });
}

function noteWait(memory: Memory, action: Action, outcome: Outcome): void {
    if (memory.waits === 0) memory.waitSince = action.step;
    memory.waits += 1;
    const seconds = action.operation.tag === "shell" ? sleeps(action.operation.val) : 0;
    memory.waited += Math.max(outcome.durationMs ?? 0, 1000 * seconds);
}

/** Nothing that it does changes a file. */
function isLook(action: Action): boolean {
    return action.facts.coverage === "full" && action.facts.effects.every((effect) => LOOKS.includes(effect.kind.tag));
}

/** What is asked for, whatever is waited before. */
function asked(action: Action): string {
    if (action.operation.tag !== "shell" || !isWaiting(action)) return String(action.facts.identity);
    const commands = action.operation.val.commands.filter((command) => command.program !== "sleep");
    return commands.map((command) => [command.program, ...command.words.map((word) => word.text)].join(" ")).join("\n");
}

/** The parts of files that a step reads, where it does nothing else. */
function rangesOf(action: Action): Range[] | null {
    const { operation } = action;
    if (operation.tag === "file") return operation.val.access === "read" ? [[operation.val.path, ...asGiven(action.parameters)]] : null;
    if (operation.tag !== "shell" || !isLook(action)) return null;
    const { commands } = operation.val;
    const isReader = ({ program, inputFrom }: Command) => inputFrom === null && (READERS.includes(program) || QUIET.includes(program));
    if (!commands.every(isReader)) return null;
    const ranges: Range[] = [];
    for (const { path: index, command: at } of action.facts.effects) {
        const path = index === null ? undefined : action.facts.paths[index];
        const command = at === null ? undefined : commands[at];
        const lines = command === undefined ? null : linesOf(command);
        if (path === undefined || path.glob || lines === null) return null;
        ranges.push([path.text, ...lines]);
    }
    return ranges;
}

/** The lines that a reading tool is asked for. */
function asGiven(parameters: string): [number, number] {
    if (parameters.length > 4096) return [1, END];
    const given: Record<string, unknown> = JSON.parse(parameters);
    const number = (key: string) => (typeof given[key] === "number" ? Number(given[key]) : null);
    const from = number("offset") ?? number("start_line") ?? 1;
    const size = number("limit");
    return [from, number("end_line") ?? (size === null ? END : from + size - 1)];
}

/** The lines that a command shows of its files; null where it shows something else. */
function linesOf({ program, words }: Command): [number, number] | null {
    const text = words.map((word) => word.text).join(" ");
    const [, size] = /(?:^|\s)-(?:n ?)?(\d+)/.exec(text) ?? [];
    switch (program) {
        case "head":
            return [1, Number(size ?? 10)];
        case "tail":
            return /(^| )-f/i.test(text) ? null : [END - Number(size ?? 10) + 1, END];
        case "sed": {
            const [, from, to] = /(?:^|\s)-n (\d+)(?:,(\d+|\$))?p/.exec(text) ?? [];
            return from === undefined ? null : [Number(from), to === "$" ? END : Number(to ?? from)];
        }
        default:
            return [1, END];
    }
}

function covers(read: Range[], [path, from, to]: Range): boolean {
    return read.some(([known, first, last]) => known === path && first <= from && to <= last);
}

/** Adds a part, joined with those that it touches. */
function add(memory: Memory, [path, from, to]: Range): void {
    const touches = ([known, first, last]: Range) => known === path && first <= to + 1 && from <= last + 1;
    const joined = memory.read.filter(touches);
    const range: Range = [path, Math.min(from, ...joined.map((part) => part[1])), Math.max(to, ...joined.map((part) => part[2]))];
    memory.read = [...memory.read.filter((part) => !touches(part)), range];
}

/** Whether a step waits for something. */
function isWaiting({ operation, tool }: Action): boolean {
    if (operation.tag !== "shell") return POLLS.includes(tool);
    return sleeps(operation.val) >= LEAST_SLEEP || operation.val.commands.some(waits);
}

function waits({ program, words }: Command): boolean {
    return WAITERS.some(([name, marks]) => name === program && (marks.length === 0 || words.some((word) => marks.includes(word.text))));
}

/** The seconds that a command line sleeps, each `sleep` once. */
function sleeps({ commands }: Shell): number {
    const units: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86400 };
    const seconds = commands.flatMap(({ program, words }) => {
        const [, number, unit = "s"] = (program === "sleep" && /^(\d+(?:\.\d+)?)([smhd]?)$/.exec(words[0]?.text ?? "")) || [];
        return number === undefined ? [] : [Number(number) * (units[unit || "s"] ?? 1)];
    });
    return seconds.reduce((sum, one) => sum + one, 0);
}

/** What a step is, for a person. */
export function describe(action: Action, ranges: Range[] | null, roots: string[]): string {
    const [path] = ranges?.[0] ?? [];
    if (path !== undefined) return `reading ${line(place(path, roots))}`;
    const { operation } = action;
    if (operation.tag === "shell") return line(operation.val.text);
    const [argument] = operation.tag === "tool" ? operation.val.arguments : [];
    return line(`${action.tool} ${argument?.value ?? ""}`);
}
