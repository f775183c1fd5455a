// What cases cannot say: several sessions, records of every kind, and hostile texts in all places, read back by an XML parser. After
// `portcullis plugin build`: `node --test test/*.test.js`; Python parses.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { register } from "node:module";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

// The plugin's own code, with a host that hears nothing.
const HOST = 'export default { log() {}, steps: () => [] };';
const HOOK = `export const resolve = (name, context, next) => name.startsWith("portcullis:")
    ? { url: "data:text/javascript,${encodeURIComponent(HOST)}", shortCircuit: true } : next(name, context);`;
register(`data:text/javascript,${encodeURIComponent(HOOK)}`);
// QuickJS has it, node not yet.
Uint8Array.fromBase64 ??= (text) => new Uint8Array(Buffer.from(text, "base64"));
const { exporter } = await import("../build/js/plugin.js");

/** What each element may hold: the common part of what receivers read, and of the schemas that some of them check. */
const SHAPES = {
    testsuites: [["name", "tests", "failures", "errors", "time"], ["testsuite"]],
    testsuite: [["name", "tests", "failures", "errors", "skipped", "time", "timestamp", "hostname", "id"], ["properties", "testcase"]],
    properties: [[], ["property"]],
    property: [["name", "value"], []],
    testcase: [["name", "classname", "time"], ["failure", "error", "skipped", "system-out", "system-err"]],
    failure: [["type", "message"], []],
    error: [["type", "message"], []],
    skipped: [["type", "message"], []],
    "system-out": [[], []],
    "system-err": [[], []],
};
const PARTS = [
    ...["]]>", "<![CDATA[", "<script>alert(1)</script>", "<!--", "-->", "<?xml version='1.0'?>", "</testcase>", "<failure/>", "&lt;", "&#0;", "&x;"],
    ...["\"", "'", "&", "<", ">", " ", "\n", "\r\n", "\r", "\t", "x", "é", "🎉", "\ud83c", "\udf89", "\0", "\x01", "\x1b[31m", "\x7f", "\x85", "\ufffe"],
    ...["\uffff", "\u202e", "\u200b", "\u2028", "\ufeff", "[[ATTACHMENT|/etc/passwd]]", "[[", "[[ PROPERTY |", "\\", "\\u{1b}", ".", "/", "long ".repeat(2000)],
];
const SEVERITIES = ["low", "medium", "high", "critical"];
const WORDS = { failure: ["warn", "modify", "ask", "block", ...SEVERITIES], skipped: ["refused", "intervention", ...SEVERITIES], error: ["unreviewed", "fault"] };

function prepare(values = {}) {
    const tags = { object: "texts", boolean: "flag", string: "text" };
    return exporter.prepare(Object.entries(values).map(([key, val]) => ({ key, value: { tag: tags[typeof val], val } })));
}

function write(records, values) {
    return Buffer.from(exporter.render(prepare(values), records, true).bytes).toString();
}

function parse(documents) {
    const input = documents.map((document) => JSON.stringify(document)).join("\n");
    const { status, stdout, stderr } = spawnSync("python3", [fileURLToPath(new URL("read.py", import.meta.url))], { input, encoding: "utf8", maxBuffer: 1 << 30 });
    assert.equal(status, 0, stderr);
    return stdout.trimEnd().split("\n").map((line) => JSON.parse(line));
}

function record(sequence, kind, more = {}) {
    const { document = {}, ...fields } = more;
    const summary = fields.summary ?? "Bash: ls";
    return {
        ...{ sequence, id: `id${sequence}`, at: 1_767_225_600_000 + 1000 * sequence, kind: { tag: kind }, session: "s1", agent: null, subject: "Bash" },
        ...{ summary, decision: null, detections: [], faults: [], previous: "", hash: "", document: JSON.stringify({ summary, ...document }) },
        ...{ attributes: [{ name: "client", value: "claude" }], ...fields },
    };
}

function review(sequence, verdict, more = {}) {
    const { reasons = [], sources = [], ...fields } = more;
    return record(sequence, "review", { decision: { verdict, risk: 950, rationality: null, confidence: 1000, reasons, sources }, ...fields });
}

function outcome(sequence, status, more = {}) {
    return record(sequence, "outcome", { document: { outcome: { at: 0, status } }, ...more });
}

/** The suites of a document, each with its cases by name and what they are. */
function told(records, values) {
    const [root] = parse([write(records, values)]);
    check(root);
    const cases = (suite) => suite.children.slice(1).map(({ attributes, children }) => [attributes.name, ...children.map(({ tag }) => tag)].join(" | "));
    return root.children.map((suite) => [suite.attributes.name, ...cases(suite)]);
}

/** Checks a document's shape and its counts. */
function check(root) {
    assert.equal(root.tag, "testsuites");
    const walk = ({ tag, attributes, children, text }) => {
        const [known, below] = SHAPES[tag];
        for (const name in attributes) assert.ok(known.includes(name) || (tag === "testcase" && name === "file"), `${name} of ${tag}`);
        for (const child of children) assert.ok(below.includes(child.tag), `${child.tag} in ${tag}`);
        for (const shown of [text, ...Object.values(attributes)]) {
            assert.ok(!/[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u2028\u202e\ufeff\ufffe\uffff]/.test(shown) && shown.isWellFormed(), JSON.stringify(shown));
            assert.ok(!shown.includes("[[ATTACHMENT|") && !/\[\[\s*\w+\s*\|/.test(shown), shown);
            assert.ok(shown.length <= 8 * 2000, `${shown.length}`);
        }
        if (tag in WORDS) assert.ok(WORDS[tag].includes(attributes.type) && text !== "", `${tag} ${attributes.type}`);
        children.forEach(walk);
    };
    walk(root);
    const cases = root.children.flatMap(({ children }) => children.filter(({ tag }) => tag === "testcase"));
    const names = cases.map(({ attributes }) => `${attributes.classname} ${attributes.name}`);
    assert.equal(new Set(names).size, names.length, "two cases have one name");
    for (const suite of [root, ...root.children]) {
        const own = suite === root ? cases : suite.children.filter(({ tag }) => tag === "testcase");
        const count = (is) => own.filter(({ children }) => children.some(({ tag }) => tag === is)).length;
        const { tests, failures, errors, skipped } = suite.attributes;
        assert.deepEqual([tests, failures, errors], [own.length, count("failure"), count("error")].map(String));
        if (suite !== root) assert.equal(skipped, `${count("skipped")}`);
    }
    for (const { children } of cases) assert.ok(children.filter(({ tag }) => tag in WORDS).length <= 1, "a case has two results");
}

test("a verdict is what the settings say", () => {
    const verdicts = ["allow", "warn", "modify", "ask", "block"].map((verdict, at) => review(at + 1, verdict));
    const cases = ["1. Bash: ls", "2. Bash: ls | system-out", "3. Bash: ls | system-out"];
    assert.deepEqual(told(verdicts), [["s1", ...cases, "4. Bash: ls | failure", "5. Bash: ls | failure"]]);
    assert.deepEqual(told(verdicts, { failure_on: ["block"] })[0].slice(4), ["4. Bash: ls | system-out", "5. Bash: ls | failure"]);
    assert.deepEqual(told(verdicts, { failure_on: [] })[0].slice(4), ["4. Bash: ls | system-out", "5. Bash: ls | system-out"]);
    assert.deepEqual(told(verdicts, { passes: false })[0].slice(1, 2), ["2. Bash: ls | system-out"]);
});

test("each session is a suite, in the order in which they begin", () => {
    const records = [review(1, "allow", { session: "b" }), review(2, "block", { session: "a" }), review(3, "allow", { session: "b" })];
    records.push(record(4, "session", { session: "c" }), record(5, "configuration", { session: "" }));
    assert.deepEqual(told(records), [["b", "1. Bash: ls", "3. Bash: ls"], ["a", "2. Bash: ls | failure"], ["c"], ["no session"]]);
});

test("what was not reviewed and a fault are errors, what was answered is skipped", () => {
    const fault = { faults: [{ source: "loop", name: "out-of-fuel", detail: "50 million" }] };
    const records = [record(1, "unreviewed"), record(2, "fault", { subject: "export", summary: "it failed", ...fault })];
    records.push(record(3, "intervention", { summary: "Loop: guide", document: { intervention: { kind: "soft_correction", issue: "loop" } } }));
    assert.deepEqual(told(records), [["s1", "1. Bash: ls | error", "2. it failed | error", "3. soft_correction, for loop | skipped"]]);
    assert.deepEqual(told([review(1, "allow", fault)]), [["s1", "1. Bash: ls | system-err"]]);
    assert.deepEqual(told([review(1, "allow", fault)], { passes: false }), [["s1", "1. Bash: ls | system-err"]]);
});

test("a detected pattern is a case of its own", () => {
    const detection = (pattern, severity) => ({ pattern, severity, confidence: 800, impact: 500 });
    const finding = { pattern: "loop", severity: "high", summary: 'the "same" command', evidence: [] };
    const document = { findings: { pattern: "loop", summary: "no" }, detections: [{ plugin: "loop", finding }], shadow: [{ detections: ["loop"] }] };
    const detections = [detection("loop", "high"), detection("loop", "critical"), detection("other", "low")];
    const names = ["1.1. loop", "1.2. loop", "1.3. other"];
    const records = [review(1, "allow", { detections, document })];
    assert.deepEqual(told(records), [["s1", "1. Bash: ls", ...names.map((name) => `${name} | skipped`)]]);
    const fails = ["failure", "failure", "skipped"];
    const settings = { failure_on: ["high", "critical"], passes: false };
    // The numbers stay the same without the action's own case.
    assert.deepEqual(told(records, settings), [["s1", ...names.map((name, at) => `${name} | ${fails[at]}`)]]);
});

test("an outcome tells how long it took, and whether it ran", () => {
    const times = (records) => parse([write(records)])[0].children[0].children.slice(1).map(({ attributes }) => attributes.time);
    const other = { summary: "Bash: pwd" };
    const records = [review(1, "allow"), review(2, "allow", other), review(3, "allow"), outcome(4, "ok"), outcome(6, "ok", other), outcome(7, "ok", { session: "s2" })];
    assert.deepEqual(times(records), ["3.000", "4.000", "0.000"]);
    const named = (sequence, review) => outcome(sequence, "ok", { document: { outcome: { at: 0, status: "ok" }, details: { review } } });
    assert.deepEqual(times([review(1, "allow"), review(2, "allow"), named(3, "id2"), named(5, "id1"), named(9, "id7")]), ["4.000", "1.000"]);
    assert.deepEqual(told([review(1, "allow"), outcome(2, "refused")]), [["s1", "1. Bash: ls | skipped"]]);
    assert.deepEqual(told([review(1, "block"), outcome(2, "refused")]), [["s1", "1. Bash: ls | failure"]]);
    assert.deepEqual(told([review(1, "allow"), outcome(2, "failed")]), [["s1", "1. Bash: ls | system-out"]]);
});

test("a file is named where the settings want it", () => {
    const facts = { effects: [{ kind: "file-read", path: 0 }, { kind: "file-delete", path: 1 }], paths: [{ text: "/p/a", glob: false }, { text: "/p/b/c", glob: false }] };
    const records = [review(1, "allow", { document: { action: { facts, cwd: "/p" } } }), review(2, "allow")];
    const files = (values) => parse([write(records, values)])[0].children[0].children.slice(1).map(({ attributes }) => attributes.file);
    assert.deepEqual(files({ files: true }), ["b/c", undefined]);
    assert.deepEqual(files(), [undefined, undefined]);
});

test("no records are a document", () => {
    assert.deepEqual(told([]), []);
});

test("no text is markup, wherever it stands", () => {
    let seed = 1;
    const next = (most) => (seed = (seed * 48_271) % 2_147_483_647) % most;
    const text = () => Array.from({ length: next(9) }, () => PARTS[next(PARTS.length)]).join("");
    const kinds = ["review", "review", "review", "outcome", "unreviewed", "intervention", "fault", "session", "other"];
    const documents = [];
    for (let round = 0; round < 400; round += 1) {
        const records = Array.from({ length: 1 + next(6) }, (_, at) => {
            const pattern = text();
            const finding = { pattern, summary: text() };
            const document = { mode: "blocking", action: { facts: { effects: [{ kind: "file-modify", path: 0 }], paths: [{ text: text(), glob: false }] }, cwd: text() } };
            const more = { document: { ...document, detections: [{ plugin: "x", finding }], intervention: { kind: text(), issue: text() } } };
            Object.assign(more, { session: text(), subject: text(), summary: text(), agent: next(2) ? text() : null });
            more.attributes = ["client", "host", "journal"].map((name) => ({ name, value: text() }));
            more.detections = next(3) ? [] : [{ pattern, severity: ["low", "critical"][next(2)], confidence: 1, impact: 1 }];
            more.faults = next(3) ? [] : [{ source: text(), name: text(), detail: text() }];
            const kind = kinds[next(kinds.length)];
            if (kind !== "review") return record(at + 1, kind, more);
            return review(at + 1, ["allow", "warn", "modify", "ask", "block"][next(5)], { ...more, reasons: [text(), text()], sources: [text()] });
        });
        documents.push(write(records, { files: true, failure_on: ["block", "ask", "critical"] }));
    }
    parse(documents).forEach(check);
});
