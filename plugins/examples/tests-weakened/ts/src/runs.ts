// Test runs: which commands are some, and what they leave out.

import type { Action, Command, Outcome, Shell } from "portcullis:plugin/types@0.1.0";
import * as memory from "./memory.ts";
import { isNeverOne } from "./project.ts";
import { fromByte } from "./texts.ts";

const RUNNERS = ["pytest", "py.test", "jest", "vitest", "mocha", "ctest", "rspec", "phpunit", "nosetests", "tox", "unittest"];
const TOOLS = [
    ...["cargo", "go", "npm", "pnpm", "yarn", "bun", "deno", "make", "just", "mvn", "mvnw", "gradle", "gradlew"],
    ...["dotnet", "mix", "swift", "rake"],
];
const TASKS = ["test", "tests", "check", "nextest", "verify"];
const LEAVE_OUT = [
    ...["--deselect", "--ignore", "--ignore-glob", "--skip", "-skip", "--exclude-regex"],
    ...["--testPathIgnorePatterns", "-DskipTests", "-Dmaven.test.skip"],
];
const HIDES = ["|| true", "||true", "|| :", "|| exit 0"];

/** The state after an action: null where it tells nothing of the tests. */
export function ended(action: Action, outcome: Outcome): Uint8Array | null {
    if (action.operation.tag !== "shell") return null;
    const shell = action.operation.val;
    const runs = shell.commands.filter(isTestRun);
    if (runs.length === 0 || runs.some((run) => leftOut(run, shell) !== null)) return null;
    if (outcome.status === "failed") return memory.state(action.step, outcome.error, outcome.output);
    return outcome.status === "ok" ? new Uint8Array() : null;
}

/** Whether a command runs tests. */
export function isTestRun({ program, words }: Command): boolean {
    const has = (wanted: (word: string) => boolean) => words.some((word) => wanted(word.text));
    if (RUNNERS.includes(program)) return true;
    if (TOOLS.includes(program)) return has((word) => TASKS.includes(word) || word.startsWith("test:"));
    return (program === "python" || program === "python3") && has((word) => word === "unittest" || word === "pytest");
}

/** What a test run leaves out. */
export function leftOut(command: Command, shell: Shell): string | null {
    const words = command.words.map((word) => word.text);
    for (const [at, word] of words.entries()) {
        const found = byWord(word, words[at + 1] ?? null);
        if (found !== null) return found;
    }
    return hidden(command, shell);
}

function byWord(word: string, next: string | null): string | null {
    if (word === "-k" || word === "-m") {
        return next !== null && (next.startsWith("not ") || next.includes(" not ")) ? `${word} ${next}` : null;
    }
    const equals = word.indexOf("=");
    const [option, own] = equals === -1 ? [word, null] : [word.slice(0, equals), word.slice(equals + 1)];
    const value = own ?? next;
    if (!LEAVE_OUT.includes(option) || (value !== null && isNeverOne(value))) return null;
    return own === null && next !== null ? `${word} ${next}` : word;
}

function hidden(command: Command, shell: Shell): string | null {
    const rest = fromByte(shell.text, command.start);
    const ends = [";", "&&", "\n"].map((end) => rest.indexOf(end)).filter((at) => at !== -1);
    const own = rest.slice(0, Math.min(...ends, rest.length));
    return HIDES.find((hides) => own.includes(hides)) ?? null;
}
