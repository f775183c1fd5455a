// What was used: of the newest prompt and of the session, and by which tools. It is the plugin's state.
//
// What the host measured counts: it reads the client's transcript. Where it tells less than results and parameters
// are long, their bytes are an estimate, and everything that is said of it says so.

/** The layout of the state. A state of another layout is forgotten: it counts from here on. */
const LAYOUT = 1;
const MOST_TOOLS = 24;
const MOST_NAME = 48;
const OTHER = "other tools";

/**
 * @typedef {object} Usage
 * @property {number} layout
 * @property {number} prompt the number of the newest prompt
 * @property {number} first the step at which the newest began
 * @property {Span} now the newest prompt
 * @property {Span} before all prompts before it
 * @property {Record<string, number>} reported the highest threshold that was reported, by budget
 */

/**
 * @typedef {object} Span what a prompt, or several, used
 * @property {number} told tokens that the host knows of
 * @property {number} bytes bytes of parameters and results
 * @property {number} ms
 * @property {Record<string, number>} tools bytes by tool
 */

/** @returns {Span} */
function emptySpan() {
    return { told: 0, bytes: 0, ms: 0, tools: {} };
}

/** What a state tells, with the step that has just ended added. @returns {Usage} */
export function count(known, prompt, action, context) {
    const usage = known?.layout === LAYOUT ? known : begin(prompt, action.step);
    if (usage.prompt !== prompt) beginPrompt(usage, prompt, action.step);
    const { now } = usage;
    const bytes = action.outcome.bytes + action.parameters.length;
    now.bytes += bytes;
    add(now.tools, action.tool.slice(0, MOST_NAME), bytes);
    // The host's count never falls within a prompt, unless a session goes on with another one.
    now.told = Math.max(now.told, usedOf(context, "tokens"));
    now.ms = Math.max(now.ms, usedOf(context, "time"));
    return usage;
}

/** @returns {Usage} */
function begin(prompt, step) {
    return { layout: LAYOUT, prompt, first: step, now: emptySpan(), before: emptySpan(), reported: {} };
}

/** @param {Usage} usage */
function beginPrompt(usage, prompt, step) {
    usage.before = sum(usage.before, usage.now);
    usage.now = emptySpan();
    usage.prompt = prompt;
    usage.first = step;
    for (const budget of Object.keys(usage.reported)) if (budget.startsWith("prompt_")) delete usage.reported[budget];
}

/** Both together. @param {Span} one @param {Span} other @returns {Span} */
export function sum(one, other) {
    const tools = { ...one.tools };
    for (const [tool, bytes] of Object.entries(other.tools)) add(tools, tool, bytes);
    return { told: one.told + other.told, bytes: one.bytes + other.bytes, ms: one.ms + other.ms, tools };
}

/** Past a number of tools, further ones are one. */
function add(tools, tool, bytes) {
    const name = Object.hasOwn(tools, tool) || Object.keys(tools).length < MOST_TOOLS ? tool : OTHER;
    tools[name] = (Object.hasOwn(tools, name) ? tools[name] : 0) + bytes;
}

/** How much of a limit is used, as the host measures it; 0 where it does not. */
function usedOf({ limits }, quantity) {
    return Math.max(0, ...limits.filter((limit) => limit.quantity.tag === quantity).map((limit) => limit.used));
}

/** The tokens of a span, and whether that is an estimate. @param {Span} span */
export function tokensOf(span, bytesPerToken) {
    const estimate = Math.ceil(span.bytes / bytesPerToken);
    return estimate > span.told ? { tokens: estimate, isEstimate: true } : { tokens: span.told, isEstimate: false };
}

/** The tool with the most bytes, and its share in per cent. @param {Span} span */
export function greediest(span) {
    const [most] = Object.entries(span.tools).sort(([, one], [, other]) => other - one);
    return most === undefined || span.bytes === 0 ? null : { tool: most[0], share: Math.round((100 * most[1]) / span.bytes) };
}
