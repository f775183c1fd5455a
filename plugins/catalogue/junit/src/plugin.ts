// Writes records as JUnit XML; ../README.md says which record is what.

import type { Exporter } from "portcullis:plugin/exporter@0.1.0";
import type { Settings } from "./cases.ts";
import { prepared, refused, settings, telling } from "./portcullis.ts";
import { write } from "./report.ts";
import { asciiBytes } from "./xml.ts";

const DEFAULTS: Settings = { failure_on: ["block", "ask"], passes: true, files: false };
const FAILURES = ["warn", "modify", "ask", "block", "low", "medium", "high", "critical"];

export const exporter = telling<Exporter>({
    prepare(given) {
        const bytes = prepared(given, DEFAULTS);
        const unknown = settings<Settings>(bytes).failure_on.find((name) => !FAILURES.includes(name));
        if (unknown !== undefined) throw refused("failure_on", `should have only ${FAILURES.join(", ")}`);
        return bytes;
    },

    // Each batch is a document of its own, whether or not it is the first: nothing says which batch is the last.
    render(prepared, records, _first) {
        return { bytes: asciiBytes(write(records, settings<Settings>(prepared))), contentType: "application/xml; charset=utf-8" };
    },
});
