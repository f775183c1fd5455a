// What a step does to files, and whether that brings back a state that a file had.
//
// A file's text is not there to be compared. Two writes of the same content are one state; of edits, the lines that
// differ between what is replaced and what replaces it tell which part went from which state to which.

import type { Action, Command, Shell } from "portcullis:plugin/types@0.1.0";
import { BASE, type FileMemory, fileOf, type Memory } from "./memory.ts";
import { hash } from "./texts.ts";

/** The file is gone. Coming back to that is tidying up. */
const GONE = "-";
/** Nothing that could be compared with another state. */
const UNKNOWN = "?";
/** The file as a whole, as a part of itself. */
const WHOLE = "";
/** Programs that write what stands on the command line, so that the same command is the same content. */
const WRITERS = ["cat", "tee", "echo", "printf", "cp", "install"];
const SUBSTITUTION = /^s(?<mark>[/|,#@:])(?<from>(?:\\.|(?!\k<mark>).)+)\k<mark>(?<to>(?:\\.|(?!\k<mark>).)*)\k<mark>[gI]*$/;

/** Notes what a step changed; the file that came back to a state that it had, if one did. */
export function noteChanges(memory: Memory, action: Action, cwd: string): FileMemory | null {
    const { operation } = action;
    if (operation.tag === "shell") return noteCommands(memory, operation.val, action, cwd);
    if (operation.tag === "file") {
        const { access, path, content, replaced } = operation.val;
        if (access === "read" || access === "search" || isScratch(action, path)) return null;
        const file = changed(memory, path, action.step);
        if (access === "delete") return noteWhole(file, GONE);
        if (content === null) return noteWhole(file, UNKNOWN);
        return replaced === null ? noteWhole(file, `w${action.facts.identity}`) : notePart(file, ...difference(replaced, content));
    }
    return written(action).reduce<FileMemory | null>(
        (found, path) => noteWhole(changed(memory, path, action.step), `w${action.facts.identity}`) ?? found,
        null,
    );
}

function changed(memory: Memory, path: string, step: number): FileMemory {
    memory.edits += 1;
    const file = fileOf(memory, path, step);
    file.edits += 1;
    return file;
}

function noteCommands(memory: Memory, shell: Shell, action: Action, cwd: string): FileMemory | null {
    let found: FileMemory | null = null;
    for (const [index, command] of shell.commands.entries()) {
        const reverts = restores(command);
        if (reverts !== null) {
            const files = memory.files.filter((file) => reverts(file.path, cwd) && file.whole.at(-1) !== BASE);
            for (const file of files) found = noteBase(file) ?? found;
            continue;
        }
        const swap = substitution(command);
        for (const path of written(action, index)) {
            const file = changed(memory, path, action.step);
            const key = isWriter(command) ? `c${action.facts.identity}` : UNKNOWN;
            found = (swap === null ? noteWhole(file, isGone(action, path) ? GONE : key) : notePart(file, ...swap)) ?? found;
        }
    }
    return found;
}

/** The paths that a command (or, without one, the action) surely writes, as far as they are no scratch files. */
function written(action: Action, command: number | null = null): string[] {
    const { effects, paths } = action.facts;
    const found = effects.flatMap(({ kind, path: index, command: own, certain }) => {
        const path = index === null ? undefined : paths[index];
        const writes = kind.tag === "file-create" || kind.tag === "file-modify" || kind.tag === "file-delete";
        if (!writes || own !== command || !certain || path === undefined || path.glob || path.scope === "scratch") return [];
        return [path.text];
    });
    return [...new Set(found)];
}

function isGone(action: Action, path: string): boolean {
    const own = action.facts.effects.filter((effect) => effect.path !== null && action.facts.paths[effect.path]?.text === path);
    return own.some((effect) => effect.kind.tag === "file-delete") && !own.some((effect) => effect.kind.tag === "file-create");
}

function isScratch(action: Action, path: string): boolean {
    return action.facts.paths.some(({ text, scope }) => text === path && scope === "scratch");
}

function isWriter(command: Command): boolean {
    const { program, redirections, words } = command;
    const appends = redirections.some(({ direction }) => direction === "append") || words.some(({ text }) => text === "-a");
    return WRITERS.includes(program) && !appends;
}

/** Which files git puts back to what it holds. A stash is not meant: it comes back. */
function restores(command: Command): ((path: string, cwd: string) => boolean) | null {
    if (command.program !== "git") return null;
    const words = command.words.map((word) => word.text);
    const [task = "", ...rest] = words;
    if (task === "reset") return rest.includes("--hard") ? () => true : null;
    if (task !== "checkout" && !(task === "restore" && (!rest.includes("--staged") || rest.includes("--worktree")))) return null;
    const named = rest.filter((word) => !word.startsWith("-"));
    return (path, cwd) =>
        named.some((word) => {
            const whole = word === "." ? cwd : word.startsWith("/") ? word : `${cwd}/${word.replace(/^\.\//, "")}`;
            return path === whole || path.startsWith(`${whole.replace(/\/$/, "")}/`);
        });
}

/** What `sed -i` replaces, and by what. */
function substitution(command: Command): [string, string] | null {
    if (command.program !== "sed" || !command.words.some(({ text }) => /^(?:-[a-zA-Z]*i|--in-place)/.test(text))) return null;
    const scripts = command.words.map(({ text }) => SUBSTITUTION.exec(text)?.groups).filter((groups) => groups !== undefined);
    const { from, to } = scripts[0] ?? {};
    return scripts.length === 1 && from !== undefined && to !== undefined ? [hash(from.trim()), hash(to.trim())] : null;
}

function noteBase(file: FileMemory): FileMemory {
    file.whole.push(BASE);
    file.parts = file.parts.map((states) => [...states, states[0] ?? UNKNOWN]);
    return came(file, BASE);
}

function noteWhole(file: FileMemory, state: string): FileMemory | null {
    const isNew = state === UNKNOWN || state === GONE || !file.whole.includes(state);
    const isSame = file.whole.at(-1) === state;
    file.whole.push(state);
    file.parts = [];
    return isNew || isSame ? null : came(file, state);
}

function notePart(file: FileMemory, from: string, to: string): FileMemory | null {
    if (file.whole.at(-1) !== UNKNOWN) file.whole.push(UNKNOWN);
    const isPutBack = (states: string[]) => isEmpty(from) && isEmpty(states.at(-1)) && states.includes(to);
    const states = file.parts.find((states) => states.at(-1) === from) ?? file.parts.find(isPutBack) ?? [from];
    // What is taken out without a line around it is taken out where it was put in.
    const state = isEmpty(to) ? (states.find(isEmpty) ?? to) : to;
    const isBack = states.includes(state) && states.at(-1) !== state;
    states.push(state);
    file.parts = [...file.parts.filter((other) => other !== states), states];
    return isBack ? came(file, `${states[0]}>${state}`) : null;
}

/** Nothing stands there. */
function isEmpty(state: string | undefined): boolean {
    return state?.startsWith("+") ?? false;
}

function came(file: FileMemory, state: string): FileMemory {
    file.returns[state] = (file.returns[state] ?? 0) + 1;
    return file;
}

/** How often one part of a file came back: in all, to how many states, and to one of them the most. */
export interface Returns {
    total: number;
    states: number;
    most: number;
}

/** The returns of each part, the most first. What git put back, it put back in every part. */
export function returnsOf(file: FileMemory): Returns[] {
    const { [BASE]: base, ...others } = file.returns;
    const restored = base === undefined ? [] : [base];
    const parts = new Map<string, number[]>([[WHOLE, restored]]);
    for (const [state, times] of Object.entries(others)) {
        const part = state.includes(">") ? (state.split(">")[0] ?? WHOLE) : WHOLE;
        parts.set(part, [...(parts.get(part) ?? restored), times]);
    }
    const sum = (times: number[]) => times.reduce((sum, time) => sum + time, 0);
    const all = [...parts.values()].map((times) => ({ total: sum(times), states: times.length, most: Math.max(0, ...times) }));
    return all.sort((one, other) => other.total - one.total);
}

/** Fingerprints of the lines that an edit takes out and of those that it puts there instead. */
export function difference(before: string, after: string): [string, string] {
    const start = lineStart(before, commonStart(before, after));
    const [old, now] = [before.slice(start), after.slice(start)];
    const end = lineEnd(old, now, commonEnd(old, now));
    const [gone, come] = [old.slice(0, old.length - end).trim(), now.slice(0, now.length - end).trim()];
    // What is put in or taken out is known by the line before it.
    const anchor = gone === "" || come === "" ? before.slice(lineStart(before, start - 1), start).trim() : "";
    return [gone === "" ? `+${hash(anchor)}` : hash(gone), come === "" ? `+${hash(anchor)}` : hash(come)];
}

/** How many characters both begin with. Halving compares whole slices, which costs less than each character. */
function commonStart(one: string, other: string): number {
    let [low, high] = [0, Math.min(one.length, other.length)];
    while (low < high) {
        const middle = (low + high + 1) >> 1;
        if (one.slice(low, middle) === other.slice(low, middle)) low = middle;
        else high = middle - 1;
    }
    return low;
}

function commonEnd(one: string, other: string): number {
    let [low, high] = [0, Math.min(one.length, other.length)];
    const part = (text: string, from: number, to: number) => text.slice(text.length - to, text.length - from);
    while (low < high) {
        const middle = (low + high + 1) >> 1;
        if (part(one, low, middle) === part(other, low, middle)) low = middle;
        else high = middle - 1;
    }
    return low;
}

/** The beginning of the line in which a place is. */
function lineStart(text: string, at: number): number {
    return at <= 0 ? 0 : text.lastIndexOf("\n", at - 1) + 1;
}

/** How much of a common end consists of whole lines. */
function lineEnd(one: string, other: string, size: number): number {
    if (size === one.length || size === other.length) {
        const longer = one.length > other.length ? one : other;
        if (size === longer.length || longer.charAt(longer.length - size - 1) === "\n") return size;
    }
    const feed = one.indexOf("\n", one.length - size);
    return feed === -1 ? 0 : one.length - feed;
}
