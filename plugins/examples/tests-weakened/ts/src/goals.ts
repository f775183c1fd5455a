// Whether tests are to pass, and whether the person asked for fewer of them.

import type { Goal } from "portcullis:plugin/types@0.1.0";
import { words } from "./texts.ts";

const TESTS = ["test", "tests", "testing", "unittest", "unittests", "suite", "spec", "specs", "ci", "pytest", "jest"];
const PASS = [
    ...["pass", "passes", "passing", "green", "fix", "fixes", "fixed", "fixing"],
    ...["fail", "fails", "failed", "failing", "failures", "red", "broken", "repair"],
];
const ASK = [
    ...["delete", "deleting", "remove", "removing", "drop", "skip", "skipping", "disable"],
    ...["ignore", "xfail", "exclude", "obsolete", "loosen", "move"],
];
const NOT = ["not", "don", "dont", "never", "without", "no", "avoid", "instead"];
/** How far before a word it is taken back. */
const REACH = 3;

/** Some goal wants them to pass. */
export function wantTestsToPass(goals: Goal[]): boolean {
    return goals.some((goal) => {
        const said = words(goal.text);
        return holds(said, TESTS) && holds(said, PASS);
    });
}

/** The newest goal asks for fewer tests. */
export function askForIt(goals: Goal[]): boolean {
    const said = words(goals.at(-1)?.text ?? "");
    const asked = (word: string, at: number) => ASK.includes(word) && !holds(said.slice(Math.max(0, at - REACH), at), NOT);
    return holds(said, TESTS) && said.some(asked);
}

function holds(words: string[], wanted: string[]): boolean {
    return words.some((word) => wanted.includes(word));
}
