// Has the agent stop, look back at what was asked for, and say what it will do.
//
// The host has decided already that an answer is due; this one words it.

import type { Intervener } from "portcullis:plugin/intervener@0.1.0";
import { prepared, telling } from "./portcullis.ts";

export const intervener = telling<Intervener>({
    prepare(given) {
        return prepared(given, {});
    },

    intervene(_prepared, issue, _situation, context) {
        const message = `${issue.summary}. Stop here, and say in a sentence what you will do next and why.`;
        // The newest is the most important.
        const background = context.goals.slice(-1).map(({ text }) => ({ title: "original request", text, emphasised: true }));
        return { tag: "guide", val: { messages: [message], background, limits: [] } };
    },
});
