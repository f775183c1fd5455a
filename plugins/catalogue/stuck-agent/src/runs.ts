// Runs of tests and other checks: which test, or which error, a run fails with.

import type { Action, Command, Outcome } from "portcullis:plugin/types@0.1.0";
import type { Failure, Memory } from "./memory.ts";
import { hash, line } from "./texts.ts";

/** Programs that check, with the words that make them do it; none: always. */
const CHECKS: [string[], string[]][] = [
    [["pytest", "py.test", "jest", "vitest", "mocha", "ava", "ctest", "rspec", "phpunit", "nosetests", "tox", "nox", "unittest"], []],
    [["tsc", "mypy", "pyright", "eslint", "flake8", "make", "ninja", "bazel", "just", "rake", "playwright", "cypress"], []],
    [["gcc", "g++", "cc", "c++", "clang", "clang++", "javac", "rustc", "ghc"], []],
    [["cargo"], ["test", "check", "build", "clippy", "nextest", "run", "t", "b", "c"]],
    [["go", "swift", "dotnet", "mix", "deno", "bun", "zig", "sbt", "lein"], ["test", "build", "vet", "check", "compile", "run"]],
    [["npm", "pnpm", "yarn", "npx"], ["test", "t", "run", "exec", "build", "lint", "jest", "vitest", "tsc", "mocha"]],
    [["uv", "poetry", "pipenv", "hatch", "bundle"], ["test", "run", "exec"]],
    [["mvn", "mvnw", "gradle", "gradlew"], []],
    [["python", "python3", "py"], ["-m", "pytest", "unittest"]],
    [["node"], ["--test"]],
];
/** What is looked at of a result: failures are summed up at its end. */
const MOST_SHOWN = 8192;
const MOST_LINES = 80;
const MOST_FOUND = 12;
const MOST_ID = 120;
/** Lines that may tell of a failure. */
const MAY_TELL = ["FAIL", "ERROR", "rror", "xception", "ailed", "not ok", "rspec ", ") ", "✕", "✗", "×", "✖", "●", ".go:"];

/** How a line tells of a failed test: groups `id` and perhaps `why`. */
const TESTS = [
    /^(?:FAILED|ERROR) (?<id>\S+\.py\S*)(?: - (?<why>.*))?$/,
    /^(?<id>\S+::\S+) (?:FAILED|ERROR)\b/,
    /^(?:FAIL|ERROR): (?<id>\S+ \([^)]+\))/,
    /^test (?<id>\S+)(?: - .*)? \.\.\. FAILED/,
    /^\s*FAIL \[[^\]]*\] (?:\([^)]*\) )?(?<id>\S+ \S+)$/,
    /^\s*--- FAIL: (?<id>\S+)/,
    /^rspec (?<id>\S+)/,
    /^\s*(?:● |[✕✗×✖] |FAIL +)(?<id>(?!Console\b)\S.*?)(?: \(?\d+(?:\.\d+)? ?m?s\)?)?$/,
    /^\d+\) (?<id>[\w\\]+::\w+)/,
    /^\s*\d+\) (?<id>test .+ \(\S+\))$/,
    /^\s*\d+ - (?<id>\S+) \((?:Failed|Timeout|SEGFAULT|Exception)/,
    /^(?<id>\S+ > .+) FAILED$/,
    /^\s*Failed (?<id>\S+) \[/,
    /^not ok \d+ - (?<id>.+)$/,
    /^\[ERROR\] +(?<id>\w+\.\w+):\d+(?:->\S+)? (?<why>.*)/,
];
/** How a line tells of an error, where no test is named. */
const ERRORS = [
    /^(?<id>error(?:\[E\d+\])?: .+)/,
    /^(?<file>[^\s:(]+)[:(]\d+[:,]\d+\)?(?: -|:) (?:fatal )?error:? (?<id>.+)/,
    /^(?<file>[^\s:]+\.go):\d+:\d+: (?<id>.+)/,
    /^(?<id>(?:\w+\.)*\w*(?:Error|Exception): [\w'"`[({<].*)/,
    /^(?<id>(?:\w+\.)*\w*(?:Error|Exception))$/,
];
const SUMS_UP = /^error: (?:could not compile|aborting|test failed|build failed|\d+ targets? failed|process didn't)/;
const HOW_MANY = /(\d+) (?:failed|failing|failures?|errors?)\b/;
const VARYING = /0x[0-9a-f]+|\d+/g;

/** A failed test, or an error. */
interface Found {
    id: string;
    why: string;
}

/** Notes a run of checks that ended; the failures that now have lasted as long as `most` runs, or longer. */
export function noteRun(memory: Memory, action: Action, outcome: Outcome, error: number, most: number): Failure[] {
    const run = action.operation.tag === "shell" ? action.operation.val.commands.find(isCheck) : undefined;
    const fails = outcome.status === "failed";
    if (action.operation.tag !== "shell" || (run === undefined && !fails)) return [];
    const text = shown(outcome);
    const found = failuresIn(text, run !== undefined);
    if (found.length === 0) {
        if (!fails && run !== undefined) memory.failures = memory.failures.filter((failure) => !passes(failure, run, text));
        return [];
    }
    const many = Math.max(found.length, Number(HOW_MANY.exec(text)?.[1] ?? 0));
    if (many < memory.fewest) {
        // Fewer fail than ever before: that is progress, whatever still fails.
        for (const failure of memory.failures) Object.assign(failure, { runs: 0, same: 0 });
        memory.fewest = many;
    }
    const { commands } = action.operation.val;
    const command = run ?? commands.find(({ program }) => program !== "cd" && program !== "") ?? commands[0];
    const program = line([command?.program, ...(command?.words ?? []).map((word) => word.text)].join(" "), 40);
    const noted = found.map((one) => note(memory, one, action, fails ? error : 0, program));
    return noted.filter((failure) => hasLasted(failure, most));
}

/** Whether it fails as often as is too often. Again and again with the same error alone is what `repetitive-errors` sees. */
function hasLasted({ runs, same, errors, shapes }: Failure, most: number): boolean {
    const isForm = shapes.length > 1 || errors.length > 1 || errors.includes(0);
    const reached = (times: number, from: number) => times >= from && (times - from) % 2 === 0;
    return isForm && (reached(same, most) || (same < most && reached(runs, 2 * most)));
}

function note(memory: Memory, { id, why }: Found, action: Action, error: number, program: string): Failure {
    const reason = hash(why.replace(VARYING, "0"));
    const known = memory.failures.find((failure) => failure.id === id);
    const failure: Failure = known ?? {
        ...{ id, runs: 0, same: 0, reason, shapes: [], programs: [], errors: [] },
        ...{ first: action.step, last: action.step, edits: memory.edits },
    };
    failure.runs += 1;
    failure.same = failure.reason === reason ? failure.same + 1 : 1;
    failure.reason = reason;
    failure.last = action.step;
    failure.shapes = newest(failure.shapes, action.facts.shape);
    failure.errors = newest(failure.errors, error);
    failure.programs = newest(failure.programs, program);
    memory.failures = [...memory.failures.filter((other) => other !== known), failure];
    return failure;
}

function newest<T>(values: T[], value: T): T[] {
    return [...values.filter((other) => other !== value), value].slice(-4);
}

/** A run without failures shows that this one is over: it names it, or leaves nothing out. */
function passes({ id }: Failure, run: Command, text: string): boolean {
    const operands = run.words.map((word) => word.text).filter((word) => /[./:]/.test(word) && !word.startsWith("-"));
    const narrows = operands.length > 0 || run.words.some(({ text }) => ["-k", "-t", "-run", "--filter", "-g", "--grep"].includes(text));
    return !narrows || text.includes(id) || operands.some((word) => id.includes(word.replace(/^\.\//, "")));
}

function isCheck({ program, words }: Command): boolean {
    const has = (marks: string[]) => marks.length === 0 || words.some(({ text }) => marks.includes(text));
    return CHECKS.some(([programs, marks]) => programs.includes(program) && has(marks));
}

function shown({ error, output }: Outcome): string {
    return `${error}\n${output.length > MOST_SHOWN ? output.slice(-MOST_SHOWN) : output}`;
}

/** What failed, each once. Tests come before errors: those are what a test fails with. */
function failuresIn(text: string, isCheck: boolean): Found[] {
    const mayTell = (one: string) => one.length < 1000 && MAY_TELL.some((word) => one.includes(word));
    const lines = text.split("\n").filter(mayTell).slice(-MOST_LINES);
    const tests = isCheck ? matching(lines, TESTS) : [];
    return tests.length > 0 ? tests : matching(lines.filter((one) => !SUMS_UP.test(one)), ERRORS);
}

function matching(lines: string[], forms: RegExp[]): Found[] {
    const found = new Map<string, Found>();
    for (const one of lines) {
        const groups = forms.map((form) => form.exec(one)?.groups).find((groups) => groups !== undefined);
        if (groups === undefined) continue;
        if (found.size === MOST_FOUND) break;
        const name = [groups["file"], groups["id"]].filter(Boolean).join(": ");
        const id = line(forms === TESTS ? name : name.replace(VARYING, "0"), MOST_ID);
        // A later line of the same test tells why.
        found.set(id, { id, why: groups["why"] ?? found.get(id)?.why ?? "" });
    }
    return [...found.values()];
}
