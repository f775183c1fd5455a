// What cases cannot say: records of every kind, too many of them, and hostile texts in all places, each report checked against the format.
// `node --test test/*.test.js`.

import assert from "node:assert/strict";
import { register } from "node:module";
import { test } from "node:test";

// A host that hears nothing.
const HOST = "data:text/javascript,export default { log() {} };";
const HOOK = `export const resolve = (name, context, next) => name === "portcullis:plugin/host@0.1.0"
    ? { url: ${JSON.stringify(HOST)}, shortCircuit: true } : next(name, context);`;
register(`data:text/javascript,${encodeURIComponent(HOOK)}`);
const { exporter } = await import("../src/plugin.js");

const SEVERITIES = ["info", "minor", "major", "critical", "blocker"];
const KEYS = ["check_name", "description", "engine_name", "fingerprint", "location", "severity"];
const PARTS = [
    ...["<script>alert(1)</script>", "<", ">", "<!--", "%{strong_start}", "%{", "{", "&lt;", "\"", "'", "\\", "\\u{1b}", "\\n", "]}", "},{", " ", "x"],
    ...["\n", "\r\n", "\t", "\0", "\x1b[31m", "\x7f", "\x85", "\u2028", "\u202e", "\u200b", "\ufeff", "\uffff", "é", "🎉", "\ud83c", "\udf89"],
    ...["/", "//", "..", "../", "./", "/p/", "/p/a", "~", "long ".repeat(2000)],
];

function write(records, values = {}) {
    const given = Object.entries(values).map(([key, val]) => ({ key, value: { tag: "text", val } }));
    const text = Buffer.from(exporter.render(exporter.prepare(given), records, true).bytes).toString("latin1");
    return check(text);
}

/** The issues of a report that keeps to the format. */
function check(text) {
    assert.match(text, /^\[[ -~]*\]\n$/, "one line of ASCII");
    const issues = JSON.parse(text);
    for (const issue of issues) {
        assert.deepEqual(Object.keys(issue).sort(), KEYS);
        const { description, check_name, fingerprint, severity, location, engine_name } = issue;
        assert.deepEqual(location, { path: location.path, lines: { begin: 1 } });
        assert.ok(SEVERITIES.includes(severity), severity);
        assert.match(fingerprint, /^[0-9a-f]{32}$/);
        assert.equal(engine_name, "Portcullis");
        assert.ok(description !== "" && description.length < 5000 && check_name !== "" && check_name.length < 1500);
        for (const shown of [description, check_name, location.path]) {
            assert.ok(shown.isWellFormed() && !/[\x00-\x1f\x7f-\x9f\u2028\u2029\p{Cf}\uffff]/u.test(shown), JSON.stringify(shown));
            assert.ok(!/<[a-z/!?]|%\{/i.test(shown), shown);
        }
        assert.ok(location.path.length <= 256, location.path);
        assert.ok(location.path.split("/").every((part) => !["", ".", ".."].includes(part)), location.path);
    }
    assert.equal(new Set(issues.map(({ fingerprint }) => fingerprint)).size, issues.length, "two issues have one fingerprint");
    return issues;
}

function record(sequence, kind, { document = {}, ...fields } = {}) {
    return {
        ...{ sequence, id: sequence.toString(16).padStart(16, "0"), at: 0, kind: { tag: kind }, session: "s1", agent: null, subject: "Bash", summary: "Bash: ls" },
        ...{ decision: null, detections: [], faults: [], previous: "", hash: "", document: JSON.stringify(document), attributes: [], ...fields },
    };
}

function review(sequence, verdict, { reasons = [], sources = [], ...fields } = {}) {
    return record(sequence, "review", { decision: { verdict, risk: 950, rationality: null, confidence: 1000, reasons, sources }, ...fields });
}

function told(records, values) {
    return write(records, values).map(({ severity, check_name, description, location }) => [severity, check_name, description, location.path]);
}

function acts(...paths) {
    const facts = { effects: paths.map((_, path) => ({ kind: "file-modify", path })), paths: paths.map((text) => ({ text, glob: false })) };
    return { action: { facts, cwd: "/p" } };
}

test("a verdict without a rule is one of its own", () => {
    const records = ["allow", "warn", "modify", "ask", "block"].map((verdict, at) => review(at + 1, verdict, { reasons: ["why", "and"] }));
    assert.deepEqual(told(records), [
        ["minor", "decision/warn", "warned: why; and (Bash: ls)", ".portcullis"],
        ["major", "decision/modify", "made safer: why; and (Bash: ls)", ".portcullis"],
        ["major", "decision/ask", "asked a person: why; and (Bash: ls)", ".portcullis"],
        ["critical", "decision/block", "blocked: why; and (Bash: ls)", ".portcullis"],
    ]);
});

test("a rule has its own verdict, no stricter than what was decided", () => {
    const objections = [["block", "a"], ["warn", "b"], ["new", "c"]].map(([verdict, rule]) => ({ source: "x", rule, verdict, reason: rule }));
    const document = { mode: "observe", findings: { objections } };
    const sources = ["x/a", "x/b", "x/c", "x/a", "x/unknown"];
    assert.deepEqual(told([review(1, "ask", { sources, reasons: ["all"], document })]).map(([severity, check, text]) => [severity, check, text]), [
        ["major", "x/a", "only observed: a (Bash: ls)"],
        ["minor", "x/b", "only observed: b (Bash: ls)"],
        ["major", "x/c", "only observed: c (Bash: ls)"],
        ["major", "x/unknown", "only observed: all (Bash: ls)"],
    ]);
});

test("a pattern has its summary, and the paths that it names", () => {
    const finding = { pattern: "loop", summary: "again", evidence: [{ kind: "command", value: "x" }, { kind: "path", value: "/p/src/a" }] };
    const document = { detections: [{ plugin: "loop", finding }] };
    const detections = ["low", "medium", "high", "critical"].map((severity) => ({ pattern: "loop", severity, confidence: 1, impact: 1 }));
    const records = [review(1, "allow", { document: acts("/p/b") }), record(2, "outcome", { detections, document })];
    const issue = (severity) => [severity, "pattern/loop", "again (Bash: ls)", "src/a"];
    assert.deepEqual(told(records), ["minor", "major", "critical", "blocker"].map(issue));
    // Without the action before it nobody knows the folder.
    assert.equal(told(records.slice(1))[0][3], ".portcullis");
    assert.deepEqual(told([review(1, "allow", { detections: detections.slice(0, 1), document: acts("/p/b") })]), [["minor", "pattern/loop", "loop was seen (Bash: ls)", "b"]]);
});

test("what was not reviewed is told; what was answered and faults, on demand", () => {
    const faults = [{ source: "loop", name: "out-of-fuel", detail: "50 million" }];
    const document = { intervention: { kind: "soft_correction", issue: "loop" } };
    const records = [record(1, "unreviewed"), record(2, "intervention", { summary: "again", document }), record(3, "fault", { summary: "it failed", faults })];
    records.push(record(4, "session"), record(5, "configuration"), record(6, "other"), record(7, "outcome", { faults }));
    const [unreviewed, ...others] = told(records, { least: "info" });
    assert.deepEqual(unreviewed, ["major", "unreviewed", "not reviewed (Bash: ls)", ".portcullis"]);
    assert.deepEqual(told(records), [unreviewed]);
    assert.deepEqual(others.map(([severity, check, text]) => [severity, check, text]), [
        ["info", "intervention/soft_correction", "loop was answered (again)"],
        ["info", "fault/out-of-fuel", "loop: out-of-fuel: 50 million (it failed)"],
        ["info", "fault/out-of-fuel", "loop: out-of-fuel: 50 million (Bash: ls)"],
    ]);
});

test("a path is relative to the project", () => {
    const place = (paths, values) => told([review(1, "warn", { document: acts(...paths) })], values)[0][3];
    assert.equal(place(["/p/a/b"]), "a/b");
    assert.equal(place(["/q/a", "/p", "/p/", "/px/a", "/p/../a", "/p//a", "/p/ok/"]), "ok");
    assert.equal(place(["./a"]), "a");
    assert.equal(place(["../a", "~/a\n", ""]), ".portcullis");
    // One that is long is whole, or no place: its beginning would be another file.
    const long = `${"a".repeat(200)}/größe.py`;
    assert.equal(place([`/p/${long}`]), long);
    assert.equal(place(["/a"], { root: "/" }), "a");
    assert.equal(place(["/p/a/b"], { root: "/p/a/" }), "b");
    assert.equal(place(["/p/<b>", "/p/%{x}", `/p/${"a".repeat(300)}`], { place: "README.md" }), "README.md");
});

test("the same record has the same fingerprint, whatever else is exported", () => {
    const records = [review(1, "warn"), review(2, "block", { sources: ["x/a", "x/b"] }), record(3, "unreviewed")];
    const prints = (list, values) => write(list, values).map(({ fingerprint }) => fingerprint);
    const all = prints(records);
    assert.equal(all.length, 4);
    assert.deepEqual(records.flatMap((one) => prints([one])), all);
    assert.deepEqual(prints(records, { least: "critical", root: "/elsewhere" }), all.slice(1, 3));
    assert.match(prints([{ ...records[0], id: "another form" }])[0], /^[0-9a-f]{32}$/);
});

test("of too many issues the gravest are told, and that there are more", () => {
    const records = Array.from({ length: 100 }, (_, at) => review(at + 1, at % 10 === 9 ? "block" : "warn"));
    const issues = told(records);
    assert.ok(issues.length <= 30);
    assert.equal(issues.filter(([severity]) => severity === "critical").length, 10);
    assert.deepEqual(issues.at(-1), ["minor", "more", `${100 - issues.length + 1} more records did not fit into this report (the journal has them)`, ".portcullis"]);
});

test("a document in another form is no error", () => {
    const forms = ["", "{", "null", "3", '"x"', "[]", '{"action":3,"findings":null,"detections":{"x":1}}', '{"action":{"facts":{"effects":[null,1],"paths":[null,{}]}}}'];
    forms.push('{"detections":[{"finding":null},{}],"findings":{"objections":[null,{"source":1}]}}', `{"a":"${"x".repeat(200_000)}"}`);
    const detections = [{ pattern: "p", severity: "high", confidence: 1, impact: 1 }];
    for (const document of forms) assert.equal(write([{ ...review(1, "block", { sources: ["a/b"], detections }), document }]).length, 2);
});

test("no records are a report", () => {
    assert.deepEqual(write([]), []);
});

test("no text is markup or leads out of the project, wherever it stands", () => {
    let seed = 1;
    const next = (most) => (seed = (seed * 48_271) % 2_147_483_647) % most;
    const text = () => Array.from({ length: next(9) }, () => PARTS[next(PARTS.length)]).join("");
    const kinds = ["review", "review", "review", "outcome", "unreviewed", "intervention", "fault", "session"];
    for (let round = 0; round < 2000; round += 1) {
        const records = Array.from({ length: 1 + next(6) }, (_, at) => {
            const [pattern, plugin, rule] = [text(), text().replaceAll("/", ""), text()];
            const finding = { pattern, summary: text(), evidence: [{ kind: "path", value: text() }] };
            const document = { ...acts(text(), `/p/${text()}`), detections: [{ finding }], findings: { objections: [{ source: plugin, rule, verdict: "warn", reason: text() }] } };
            if (next(2)) document.action.cwd = text();
            const more = { document: { ...document, intervention: { kind: text(), issue: text() } }, session: text(), subject: text(), summary: text() };
            more.detections = next(3) ? [] : [{ pattern, severity: "critical", confidence: 1, impact: 1 }];
            more.faults = next(3) ? [] : [{ source: text(), name: text(), detail: text() }];
            const kind = kinds[next(kinds.length)];
            if (kind !== "review") return record(at + 1, kind, more);
            return review(at + 1, ["allow", "warn", "ask", "block"][next(4)], { ...more, reasons: [text(), text()], sources: [`${plugin}/${rule}`] });
        });
        write(records, { least: "info", root: next(2) ? "" : "/p" });
    }
});
