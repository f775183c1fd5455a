// The settings, and what makes them impossible together.

import { prepared, refused, settings } from "./portcullis.js";

export const DEFAULTS = {
    ...{ prompt_tokens: 1_000_000, session_tokens: 5_000_000, prompt_minutes: 120, session_minutes: 480 },
    ...{ price: 0, currency: "", currency_digits: 2, prompt_cost: 0, session_cost: 0 },
    ...{ thresholds: ["80", "100"], bytes_per_token: 4 },
};
const BOUNDS = {
    ...{ prompt_tokens: [0, 1e12], session_tokens: [0, 1e12], prompt_minutes: [0, 1e6], session_minutes: [0, 1e6] },
    ...{ price: [0, 1e9], currency_digits: [0, 4], prompt_cost: [0, 1e12], session_cost: [0, 1e12], bytes_per_token: [1, 100] },
};
const MOST_THRESHOLDS = 16;
const MOST_SHARE = 1000;
/** A currency is a word or a sign: it stands in messages. */
const CURRENCY = /^[\p{L}\p{Sc}]{1,8}$/u;

/** What `prepare` returns: settings that are right by themselves and together. */
export function checked(given) {
    const bytes = prepared(given, DEFAULTS);
    const values = settings(bytes);
    for (const [key, [least, most]] of Object.entries(BOUNDS)) {
        if (values[key] < least || values[key] > most) throw refused(key, `should be from ${least} to ${most}`);
    }
    checkThresholds(values.thresholds);
    if (values.price > 0 && !CURRENCY.test(values.currency)) {
        throw refused("currency", "should be a word or sign of up to 8 letters where there is a `price`");
    }
    const budget = ["prompt_cost", "session_cost"].find((key) => values[key] > 0);
    if (budget !== undefined && values.price === 0) throw refused(budget, "needs a `price`");
    return bytes;
}

function checkThresholds(thresholds) {
    const right = `should be 1 to ${MOST_THRESHOLDS} whole numbers from 1 to ${MOST_SHARE} as texts, rising`;
    const numbers = thresholds.map((text) => (/^[1-9]\d{0,3}$/.test(text) ? Number(text) : Infinity));
    const rises = numbers.every((number, at) => number <= MOST_SHARE && (at === 0 || number > numbers[at - 1]));
    if (numbers.length === 0 || numbers.length > MOST_THRESHOLDS || !rises) throw refused("thresholds", right);
}
