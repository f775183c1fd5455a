// Whether tests are to pass, and whether the person asked for fewer of them.

import { words } from "./texts.js";

const TESTS = new Set(["test", "tests", "testing", "unittest", "unittests", "suite", "spec", "specs", "ci", "pytest", "jest"]);
const PASS = new Set([
    "pass", "passes", "passing", "green", "fix", "fixes", "fixed", "fixing", "fail", "fails", "failed", "failing", "failures",
    "red", "broken", "repair",
]);
const ASK = new Set([
    "delete", "deleting", "remove", "removing", "drop", "skip", "skipping", "disable", "ignore", "xfail", "exclude",
    "obsolete", "loosen", "move",
]);
const NOT = new Set(["not", "don", "dont", "never", "without", "no", "avoid", "instead"]);
/** How far before a word it is taken back. */
const REACH = 3;

/** Some goal wants them to pass. */
export function wantTestsToPass(goals) {
    return goals.map((goal) => words(goal.text)).some((said) => holds(said, TESTS) && holds(said, PASS));
}

/** The newest goal asks for fewer tests. */
export function askForIt(goals) {
    const said = words(goals.at(-1)?.text ?? "");
    const asked = (word, at) => ASK.has(word) && !holds(said.slice(Math.max(at - REACH, 0), at), NOT);
    return holds(said, TESTS) && said.some(asked);
}

function holds(words, wanted) {
    return words.some((word) => wanted.has(word));
}
