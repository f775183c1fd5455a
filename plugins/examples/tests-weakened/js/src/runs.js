// Test runs: which commands are some, and what they leave out.

import { remembered } from "./memory.js";
import { isNeverOne } from "./tests_of.js";
import { fromByte } from "./texts.js";

const RUNNERS = new Set([
    "pytest", "py.test", "jest", "vitest", "mocha", "ctest", "rspec", "phpunit", "nosetests", "tox", "unittest",
]);
const TOOLS = new Set([
    "cargo", "go", "npm", "pnpm", "yarn", "bun", "deno", "make", "just", "mvn", "mvnw", "gradle", "gradlew", "dotnet", "mix",
    "swift", "rake",
]);
const TASKS = new Set(["test", "tests", "check", "nextest", "verify"]);
const LEAVE_OUT = new Set([
    "--deselect", "--ignore", "--ignore-glob", "--skip", "-skip", "--exclude-regex", "--testPathIgnorePatterns",
    "-DskipTests", "-Dmaven.test.skip",
]);
const HIDES = ["|| true", "||true", "|| :", "|| exit 0"];

/** The state after an action; null where it tells nothing of the tests. */
export function ended(action, outcome) {
    if (action.operation.tag !== "shell") return null;
    const shell = action.operation.val;
    const runs = shell.commands.filter(isTestRun);
    if (runs.length === 0 || runs.some((run) => leftOut(run, shell) !== null)) return null;
    switch (outcome.status) {
        case "failed": return remembered(action.step, outcome.error, outcome.output);
        case "ok": return new Uint8Array();
        default: return null;
    }
}

/** Whether a command runs tests. */
export function isTestRun({ program, words }) {
    const has = (wanted) => words.some((word) => wanted(word.text));
    if (TOOLS.has(program)) return has((word) => TASKS.has(word) || word.startsWith("test:"));
    if (program === "python" || program === "python3") return has((word) => word === "unittest" || word === "pytest");
    return RUNNERS.has(program);
}

/** What a test run leaves out; null where that is nothing. */
export function leftOut(command, shell) {
    const words = command.words.map((word) => word.text);
    const byWords = words.map((word, at) => byWord(word, words[at + 1])).find((what) => what !== null);
    return byWords ?? hidden(command, shell);
}

function byWord(word, after) {
    if (word === "-k" || word === "-m") {
        const chooses = after !== undefined && (after.startsWith("not ") || after.includes(" not "));
        return chooses ? `${word} ${after}` : null;
    }
    const equals = word.indexOf("=");
    const option = equals < 0 ? word : word.slice(0, equals);
    const value = equals < 0 ? after : word.slice(equals + 1);
    if (!LEAVE_OUT.has(option) || (value !== undefined && isNeverOne(value))) return null;
    return equals < 0 && after !== undefined ? `${word} ${after}` : word;
}

function hidden(command, shell) {
    const [rest] = fromByte(shell.text, command.start).split(/;|&&|\n/, 1);
    return HIDES.find((hides) => rest.includes(hides)) ?? null;
}
