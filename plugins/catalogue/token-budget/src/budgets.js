// Which budgets have reached a threshold, and how that is said.

import { greediest, sum, tokensOf } from "./usage.js";

const MINUTE = 60_000;
const NAMES = {
    ...{ prompt_tokens: "tokens of this prompt", session_tokens: "tokens of the session" },
    ...{ prompt_minutes: "minutes of this prompt", session_minutes: "minutes of the session" },
    ...{ prompt_cost: "money for this prompt", session_cost: "money for the session" },
};

/**
 * @typedef {object} Reached a budget of which a threshold has just been passed
 * @property {string} budget
 * @property {number} threshold in per cent
 * @property {number} share in per cent, rounded down
 * @property {string} amounts `800,000 of 1,000,000`
 * @property {boolean} isEstimate
 * @property {boolean} isOfPrompt
 */

/** The budgets that have passed a threshold since they were last reported, which they then are. @returns {Reached[]} */
export function reached(usage, values) {
    const spans = { prompt: usage.now, session: sum(usage.before, usage.now) };
    return Object.keys(NAMES).flatMap((budget) => {
        const most = values[budget];
        if (most === 0) return [];
        const [span, unit] = budget.split("_");
        const { used, isEstimate } = usedOf(spans[span], unit, values);
        const share = Math.floor((100 * used) / most);
        const threshold = values.thresholds.map(Number).findLast((threshold) => share >= threshold);
        if (threshold === undefined || threshold <= (usage.reported[budget] ?? 0)) return [];
        usage.reported[budget] = threshold;
        const amount = (number) => (unit === "cost" ? money(number, values) : grouped(number));
        return [{ budget, threshold, share, amounts: `${amount(used)} of ${amount(most)}`, isEstimate, isOfPrompt: span === "prompt" }];
    });
}

function usedOf(span, unit, values) {
    if (unit === "minutes") return { used: Math.floor(span.ms / MINUTE), isEstimate: false };
    const { tokens, isEstimate } = tokensOf(span, values.bytes_per_token);
    return { used: unit === "tokens" ? tokens : cost(tokens, values.price), isEstimate };
}

/** What tokens cost in the smallest unit, rounded up: a budget is not to be passed by rounding. */
export function cost(tokens, price) {
    return Number((BigInt(tokens) * BigInt(price) + 999_999n) / 1_000_000n);
}

/** An amount of money: `1,234.50 USD`. */
export function money(amount, { currency, currency_digits: digits }) {
    const text = String(amount).padStart(digits + 1, "0");
    const whole = grouped(Number(text.slice(0, text.length - digits)));
    return `${whole}${digits === 0 ? "" : `.${text.slice(-digits)}`} ${currency}`;
}

/** `1,000,000`. */
export function grouped(number) {
    return String(number).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** The finding for what was reached; null where nothing was. @param {Reached[]} found */
export function detection(found, usage, values, step) {
    const worst = found.reduce((worst, one) => (worst === null || one.share > worst.share ? one : worst), null);
    if (worst === null) return null;
    const span = worst.isOfPrompt ? usage.now : sum(usage.before, usage.now);
    return {
        pattern: "token_budget",
        severity: worst.share >= 100 ? "high" : worst.share >= 80 ? "medium" : "low",
        confidence: worst.isEstimate ? 600 : 950,
        impact: Math.min(1000, 10 * worst.share),
        firstStep: worst.isOfPrompt ? usage.first : 0,
        summary: summary(worst, found.length - 1, span, values),
        evidence: found.map((one) => ({ kind: "budget", value: described(one), step })),
    };
}

/** @param {Reached} one */
function described({ budget, amounts, isEstimate }) {
    return `${NAMES[budget]}: ${amounts}${isEstimate ? " (estimate)" : ""}`;
}

function summary(worst, others, span, values) {
    const isMoney = worst.budget.endsWith("_cost");
    const { tokens } = tokensOf(span, values.bytes_per_token);
    const price = values.price > 0 && worst.budget.endsWith("_tokens") ? `, ${money(cost(tokens, values.price), values)}` : "";
    const estimate = worst.isEstimate ? ", an estimate from bytes" : "";
    const most = greediest(span);
    const by = most === null ? "" : `; ${most.tool} has ${most.share} % of what tools took and returned`;
    const more = others === 0 ? "" : ` and ${others} more budget${others === 1 ? "" : "s"} too`;
    const first = worst.share >= 100 ? "stop here, and say what is done and" : "finish what is open first, and say";
    const used = `${worst.share} % of the ${NAMES[worst.budget]} ${isMoney ? "is" : "are"} used`;
    return `${used} (${worst.amounts}${price}${estimate})${more}${by}; ${first} what the rest would take`;
}
