// A batch of records as a report: one array, on one line, in ASCII.

import { issuesOf } from "./issues.js";
import { MOST_PATH } from "./paths.js";
import { digest, quote } from "./text.js";

/** The most characters of a name, of a reason, and of an action. A path is never cut: that would be another file. `quote` halves what has letters outside ASCII. */
const MOST_NAME = 120;
const MOST_REASON = 280;
const MOST_ACTION = 100;
/** How many characters the reasons of a batch share: a call has not the fuel for more. */
const ALL_REASONS = 3000;
const ID = /^[0-9a-f]{16}$/;

export function write(records, settings) {
    const issues = issuesOf(records, settings);
    const most = Math.min(MOST_REASON, Math.floor(ALL_REASONS / issues.length));
    const written = memory((text, length) => quote(text, length));
    const digests = memory(digest);
    const parts = issues.map(({ id, check, number, severity, says, action, path }) => {
        const [reason, what] = [written(says, most), written(action, Math.min(MOST_ACTION, most))];
        const text = reason.includes(what) ? reason : `${reason} (${what})`;
        // The id alone is unique in the journal, and as public as the record.
        const print = `${ID.test(id) ? id : digests(id)}${digests(`${check}#${number}`)}`;
        const head = `"description":"${text}","check_name":"${written(check, MOST_NAME)}","fingerprint":"${print}","severity":"${severity}"`;
        return `{${head},"location":{"path":"${written(path, 2 * MOST_PATH)}","lines":{"begin":1}},"engine_name":"Portcullis"}`;
    });
    return `[${parts.join(",")}]\n`;
}

/** A function that remembers what it made of a text: an action and its paths stand in several issues. */
function memory(make) {
    const made = new Map();
    return (text, length = 0) => {
        const key = `${length} ${text}`;
        if (!made.has(key)) made.set(key, make(text, length));
        return made.get(key);
    };
}
