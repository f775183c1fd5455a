// What cases cannot say: tokens that a client tells. Run with `node --test test/*.test.js`.

import assert from "node:assert/strict";
import { test } from "node:test";
import { cost, detection, grouped, money, reached } from "../src/budgets.js";
import { count, greediest, sum, tokensOf } from "../src/usage.js";

const VALUES = {
    ...{ prompt_tokens: 1000, session_tokens: 1500, prompt_minutes: 10, session_minutes: 0 },
    ...{ price: 300, currency: "USD", currency_digits: 2, prompt_cost: 0, session_cost: 0, thresholds: ["80", "100"], bytes_per_token: 4 },
};

function step(at, { tool = "Bash", bytes = 0 } = {}) {
    return { step: at, tool, parameters: "", outcome: { status: "ok", bytes } };
}

function limits(tokens, ms = 0) {
    const limit = (tag, used) => ({ quantity: { tag }, maximum: 5_000_000, used });
    return { limits: [limit("file-operations", 7), limit("tokens", tokens), limit("time", ms)] };
}

/** Plays prompts, each a list of what the host has measured at its steps; what was reported at which step. */
function play(prompts, values = VALUES) {
    let [usage, at] = [null, 0];
    const told = [];
    for (const [prompt, uses] of prompts.entries()) {
        for (const [tokens, ms] of uses) {
            // As the host keeps it between two calls.
            usage = count(usage && JSON.parse(JSON.stringify(usage)), prompt, step(at), limits(tokens, ms));
            const found = detection(reached(usage, values), usage, values, at);
            if (found !== null) told.push([at, found.severity, found.confidence, found.evidence.map((one) => one.value)]);
            at += 1;
        }
    }
    return told;
}

test("tokens that a client tells are no estimate", () => {
    assert.deepEqual(play([[[100], [799], [800], [990], [1000], [1100]]]), [
        [2, "medium", 950, ["tokens of this prompt: 800 of 1,000"]],
        [4, "high", 950, ["tokens of this prompt: 1,000 of 1,000"]],
    ]);
});

test("the session has the tokens of all prompts", () => {
    assert.deepEqual(play([[[700]], [[10], [500]], [[300]]]), [
        [2, "medium", 950, ["tokens of the session: 1,200 of 1,500"]],
        [3, "high", 950, ["tokens of the session: 1,500 of 1,500"]],
    ]);
});

test("a count that begins again does not make a prompt cheaper", () => {
    assert.deepEqual(play([[[700], [0], [100]], [[450]]]), []);
});

test("minutes are told with tokens in one report", () => {
    const budgets = ["tokens of this prompt: 900 of 1,000", "minutes of this prompt: 10 of 10"];
    assert.deepEqual(play([[[900, 600_000]]]), [[0, "high", 950, budgets]]);
});

test("what is longer than what is told is an estimate", () => {
    const span = { told: 100, bytes: 800, ms: 0, tools: { Bash: 600, Read: 200 } };
    assert.deepEqual(tokensOf(span, 4), { tokens: 200, isEstimate: true });
    assert.deepEqual(tokensOf({ ...span, told: 200 }, 4), { tokens: 200, isEstimate: false });
    assert.deepEqual(greediest(span), { tool: "Bash", share: 75 });
    const more = { told: 1, bytes: 2, ms: 3, tools: { Read: 2 } };
    assert.deepEqual(sum(span, more), { told: 101, bytes: 802, ms: 3, tools: { Bash: 600, Read: 202 } });
    assert.equal(greediest({ told: 0, bytes: 0, ms: 0, tools: {} }), null);
});

test("money is whole numbers, rounded up", () => {
    const cases = [
        [0, 300, 0],
        [1, 300, 1],
        [1_000_000, 300, 300],
        [1_000_001, 300, 301],
        // Past what a floating-point number holds exactly.
        [999_999_999_999, 1_000_000_000, 999_999_999_999_000],
    ];
    for (const [tokens, price, expected] of cases) assert.equal(cost(tokens, price), expected, `${tokens} ${price}`);
    const shown = (amount, currency_digits) => money(amount, { currency: "USD", currency_digits });
    const texts = [shown(0, 2), shown(5, 2), shown(123_456, 2), shown(1234, 0), shown(7, 4)];
    assert.deepEqual(texts, ["0.00 USD", "0.05 USD", "1,234.56 USD", "1,234 USD", "0.0007 USD"]);
    assert.equal(grouped(1_000_000), "1,000,000");
});

test("a state of another layout begins again", () => {
    const usage = count({ layout: 9, now: null }, 3, step(12), limits(5));
    assert.deepEqual([usage.prompt, usage.first, usage.now.told], [3, 12, 5]);
});
