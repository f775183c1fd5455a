// What weakens tests.

import type { Action, Command, EffectKind, FileOperation, Path, Severity, Shell } from "portcullis:plugin/types@0.1.0";
import { isNamedAsTest, nameOf, type Project } from "./project.ts";
import { isTestRun, leftOut } from "./runs.ts";
import { changed, count, trimmed } from "./texts.ts";

const MARKS = [
    ...["pytest.mark.skip", "pytest.mark.xfail", "pytest.skip(", "pytest.xfail(", "unittest.skip"],
    ...["unittest.SkipTest", "SkipTest", ".skipTest(", "unittest.expectedFailure", "#[ignore", "it.skip("],
    ...["test.skip(", "describe.skip(", "it.only(", "test.only(", "describe.only(", "it.todo(", "test.todo("],
    ...["xit(", "xtest(", "xdescribe(", "fit(", "fdescribe(", "t.Skip", "@Disabled", "@Ignore", "(Skip ="],
    ...["markTestSkipped(", "XCTSkip"],
];
const TESTS = ["def test_", "#[test]", "it(", "test(", "func Test", "@Test"];
const ASSERTIONS = ["assert", "expect(", "t.Error", "t.Fatal", "require."];
const OF_NOTHING = [
    ...["assert True", "assert 1 == 1", "assert(true)", "assert!(true)", "assertTrue(True)", "assertTrue(true)"],
    ...["assert.ok(true)", "expect(true).toBe(true)"],
];

/** How tests are weakened: how bad that is, how much of the tests it touches, and how it is said. */
export const KINDS = {
    deleted: { severity: "high", impact: 800, says: (thing: string) => `${thing} is deleted` },
    moved: { severity: "high", impact: 800, says: (thing: string) => `${thing} is moved to where no test runs` },
    emptied: { severity: "high", impact: 800, says: (thing: string) => `${thing} is emptied` },
    skipped: { severity: "high", impact: 600, says: (thing: string, mark: string) => `a test in ${thing} is skipped (${mark})` },
    cut: { severity: "high", impact: 600, says: (thing: string) => `a test is taken out of ${thing}` },
    loosened: { severity: "medium", impact: 500, says: (thing: string) => `assertions are taken out of ${thing}` },
    "left-out": { severity: "medium", impact: 500, says: (thing: string) => `tests are left out (${thing})` },
} satisfies Record<string, { severity: Severity; impact: number; says: (thing: string, mark: string) => string }>;

/** What weakens tests. */
export interface Weakening {
    kind: keyof typeof KINDS;
    /** The file's place, or what leaves them out. */
    thing: string;
    /** The mark that skips one. */
    mark?: string;
}

/** What an action does to the tests. */
export function weakening(action: Action, project: Project): Weakening | null {
    const { operation } = action;
    if (operation.tag === "shell") return ofShell(operation.val, action, project);
    return operation.tag === "file" ? ofFile(operation.val, project) : null;
}

/** A change of a path by a command. */
interface Change {
    kind: EffectKind["tag"];
    path: Path;
    /** The command's index. */
    at: number | null;
    command: Command | undefined;
}

type Test = (change: Change, changes: Change[], project: Project) => boolean;

function ofShell(shell: Shell, action: Action, project: Project): Weakening | null {
    const changes = changesOf(shell, action);
    const ways: [Weakening["kind"], Test][] = [["deleted", deletes], ["moved", moves], ["emptied", empties]];
    for (const [kind, isOne] of ways) {
        for (const change of changes) {
            const thing = project.test(change.path.text);
            if (thing !== null && isOne(change, changes, project)) return { kind, thing };
        }
    }
    for (const run of shell.commands.filter(isTestRun)) {
        const thing = leftOut(run, shell);
        if (thing !== null) return { kind: "left-out", thing };
    }
    return null;
}

function changesOf(shell: Shell, action: Action): Change[] {
    const changes: Change[] = [];
    for (const { kind, path: index, command: at } of action.facts.effects) {
        const path = index === null ? undefined : action.facts.paths[index];
        if (path === undefined || !["file-create", "file-modify", "file-delete"].includes(kind.tag)) continue;
        changes.push({ kind: kind.tag, path, at, command: at === null ? undefined : shell.commands[at] });
    }
    return changes;
}

/** It is that program, or git's command of that name. */
function is(command: Command, name: string): boolean {
    return command.program === name || isOfGit(command, name);
}

function isOfGit(command: Command, name: string): boolean {
    return command.program === "git" && command.words[0]?.text === name;
}

function deletes({ kind, command }: Change): boolean {
    return kind === "file-delete" || (command !== undefined && isOfGit(command, "rm"));
}

function moves(change: Change, changes: Change[], project: Project): boolean {
    const { command, at } = change;
    if (command === undefined || !is(command, "mv")) return false;
    const own = changes.filter((other) => other.at === at && !other.path.text.split("/").includes(".git"));
    const first = command.words.some(({ text }) => text === "-t" || text.startsWith("--target-directory"));
    const target = first ? own[0] : own.at(-1);
    return target !== undefined && target !== change && !keeps(change.path, target.path, project);
}

/** A test that is moved there is a test still. */
function keeps(source: Path, target: Path, project: Project): boolean {
    const [from, to] = [nameOf(source.text), nameOf(target.text)];
    const into = target.entry === "folder" || (!to.includes(".") && from.includes("."));
    const end = into ? `${target.text}/${from}` : target.text;
    return isNamedAsTest(from) ? project.place(end) !== null && isNamedAsTest(nameOf(end)) : project.test(end) !== null;
}

function empties({ kind, command }: Change): boolean {
    if (kind === "file-delete") return false;
    if (command === undefined) return true;
    const words = command.words.map((word) => word.text);
    switch (command.program) {
        case ":":
        case "true":
        case "truncate":
            return true;
        case "cp":
            return words[0] === "/dev/null";
        case "cat":
            return words[0] === "/dev/null" && words.length === 1;
        case "echo":
        case "printf":
            if (words[0] === "-n") words.shift();
            return (
                words.every((word) => trimmed(word.replaceAll("\\n", "")) === "") &&
                !command.redirections.some((redirection) => redirection.direction === "append")
            );
        default:
            return false;
    }
}

function ofFile(file: FileOperation, project: Project): Weakening | null {
    const thing = project.test(file.path);
    if (thing === null) return null;
    if (file.access === "delete") return { kind: "deleted", thing };
    const { content, replaced } = file;
    if (content === null) return null;
    if (replaced === null) {
        const saysNothing = (line: string) => line === "" || line.startsWith("#") || line.startsWith("//");
        return content.split("\n").map(trimmed).every(saysNothing) ? { kind: "emptied", thing } : null;
    }
    return ofEdit(thing, ...changed(replaced, content));
}

/** Lines around a change count in neither text; they are left out, since each that is searched costs fuel. */
function ofEdit(thing: string, before: string, after: string): Weakening | null {
    const mark = MARKS.find((mark) => count(after, mark, true) > count(before, mark, true));
    if (mark !== undefined) return { kind: "skipped", thing, mark };
    if (sum(after, TESTS, true) < sum(before, TESTS, true)) return { kind: "cut", thing };
    return assertions(after) < assertions(before) ? { kind: "loosened", thing } : null;
}

function assertions(text: string): number {
    return Math.max(0, sum(text, ASSERTIONS, false) - sum(text, OF_NOTHING, false));
}

function sum(text: string, parts: string[], whole: boolean): number {
    return parts.reduce((sum, part) => sum + count(text, part, whole), 0);
}
