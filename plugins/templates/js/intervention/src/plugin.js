// Has the agent stop, look back at what was asked for, and say what it will do.
//
// The host has decided already that an answer is due; this one words it.

import { prepared, telling } from "./portcullis.js";

export const intervener = telling({
    prepare(given) {
        return prepared(given, {});
    },

    intervene(prepared, issue, situation, context) {
        const message = `${issue.summary}. Stop here, and say in a sentence what you will do next and why.`;
        // The newest is the most important.
        const requests = context.goals.slice(-1).map((goal) => ({ title: "original request", text: goal.text, emphasised: true }));
        return { tag: "guide", val: { messages: [message], background: requests, limits: [] } };
    },
});
