// What weakens tests.

import { changesBy, deletes, empties, moves } from "./changes.js";
import { isTestRun, leftOut } from "./runs.js";
import { count, isBlank } from "./texts.js";

const MARKS = [
    "pytest.mark.skip", "pytest.mark.xfail", "pytest.skip(", "pytest.xfail(", "unittest.skip", "unittest.SkipTest",
    "SkipTest", ".skipTest(", "unittest.expectedFailure", "#[ignore", "it.skip(", "test.skip(", "describe.skip(", "it.only(",
    "test.only(", "describe.only(", "it.todo(", "test.todo(", "xit(", "xtest(", "xdescribe(", "fit(", "fdescribe(", "t.Skip",
    "@Disabled", "@Ignore", "(Skip =", "markTestSkipped(", "XCTSkip",
];
const TESTS = ["def test_", "#[test]", "it(", "test(", "func Test", "@Test"];
const ASSERTIONS = ["assert", "expect(", "t.Error", "t.Fatal", "require."];
const OF_NOTHING = [
    "assert True", "assert 1 == 1", "assert(true)", "assert!(true)", "assertTrue(True)", "assertTrue(true)",
    "assert.ok(true)", "expect(true).toBe(true)",
];

/** How tests are weakened: the worst that it can mean, how much of them it touches, and its words. */
const KINDS = {
    deleted: { severity: "high", impact: 800, words: (thing) => `${thing} is deleted` },
    moved: { severity: "high", impact: 800, words: (thing) => `${thing} is moved to where no test runs` },
    emptied: { severity: "high", impact: 800, words: (thing) => `${thing} is emptied` },
    skipped: { severity: "high", impact: 600, words: (thing, mark) => `a test in ${thing} is skipped (${mark})` },
    cut: { severity: "high", impact: 600, words: (thing) => `a test is taken out of ${thing}` },
    loosened: { severity: "medium", impact: 500, words: (thing) => `assertions are taken out of ${thing}` },
    leftOut: { severity: "medium", impact: 500, words: (thing) => `tests are left out (${thing})` },
};

/** What an action does to the tests; null where it leaves them alone. */
export function weakening(action, project) {
    const { tag, val } = action.operation;
    if (tag === "shell") return ofShell(val, action.facts, project);
    if (tag === "file") return ofFile(val, project);
    return null;
}

/** A weakening: its thing is a file's place, or what leaves tests out; its mark is what skips one. */
function by(kind, thing, mark = null) {
    const { severity, impact, words } = KINDS[kind];
    return { severity, impact, thing, mark, isOfAFile: kind !== "leftOut", summary: words(thing, mark) };
}

function ofShell(shell, facts, project) {
    const changes = changesBy(shell, facts);
    const ofTests = changes.map((change) => [change, project.test(change.path.text)]).filter(([, place]) => place !== null);
    for (const [kind, isOne] of [["deleted", deletes], ["moved", moves], ["emptied", empties]]) {
        const found = ofTests.find(([change]) => isOne(change, changes, project));
        if (found !== undefined) return by(kind, found[1]);
    }
    const thing = shell.commands.filter(isTestRun).map((command) => leftOut(command, shell)).find((what) => what !== null);
    return thing === undefined ? null : by("leftOut", thing);
}

function ofFile(file, project) {
    const place = project.test(file.path);
    if (place === null) return null;
    if (file.access === "delete") return by("deleted", place);
    if (file.content === null) return null;
    if (file.replaced !== null) return ofEdit(place, file.replaced, file.content);
    return file.content.split("\n").every(saysNothing) ? by("emptied", place) : null;
}

/** A line is empty or a comment. */
function saysNothing(line) {
    return isBlank(line) || /^[ \t]*(#|\/\/)/.test(line);
}

function ofEdit(place, replaced, content) {
    const [old, text] = changed(replaced, content);
    const mark = MARKS.find((mark) => {
        const now = count(text, mark, true);
        return now > 0 && now > count(old, mark, true);
    });
    if (mark !== undefined) return by("skipped", place, mark);
    if (sum(text, TESTS, true) < sum(old, TESTS, true)) return by("cut", place);
    return assertions(text) < assertions(old) ? by("loosened", place) : null;
}

/**
 * Two texts without the lines that both begin with and both end with: these count in neither. A text may be long, and
 * each character that is searched costs fuel; to compare two parts costs little.
 */
function changed(old, text) {
    const begins = longest(Math.min(old.length, text.length), (from, to) => old.slice(from, to) === text.slice(from, to));
    const first = begins === 0 ? 0 : old.lastIndexOf("\n", begins - 1) + 1;
    const [before, now] = [old.slice(first), text.slice(first)];
    const fromEnd = (whole, from, to) => whole.slice(whole.length - to, whole.length - from);
    const ends = longest(Math.min(before.length, now.length), (from, to) => fromEnd(before, from, to) === fromEnd(now, from, to));
    const last = before.indexOf("\n", before.length - ends);
    const common = last < 0 ? 0 : before.length - last;
    return [before.slice(0, before.length - common), now.slice(0, now.length - common)];
}

/** The greatest length up to `most` for which two parts are the same. */
function longest(most, areSame) {
    let [least, bound] = [0, most];
    while (least < bound) {
        const middle = Math.ceil((least + bound) / 2);
        if (areSame(least, middle)) least = middle;
        else bound = middle - 1;
    }
    return least;
}

function assertions(text) {
    return Math.max(sum(text, ASSERTIONS, false) - sum(text, OF_NOTHING, false), 0);
}

function sum(text, parts, whole) {
    return parts.reduce((found, part) => found + count(text, part, whole), 0);
}
