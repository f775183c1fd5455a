// Writes records as GitLab Code Quality reports; ../README.md says which record is what.

import { SEVERITIES } from "./issues.js";
import { isPlace } from "./paths.js";
import { prepared, refused, settings, telling } from "./portcullis.js";
import { write } from "./report.js";
import { asciiBytes } from "./text.js";

const DEFAULTS = { least: "minor", root: "", place: ".portcullis" };

export const exporter = telling({
    prepare(given) {
        const bytes = prepared(given, DEFAULTS);
        const { least, root, place } = settings(bytes);
        if (!SEVERITIES.includes(least)) throw refused("least", `should be one of ${SEVERITIES.join(", ")}`);
        if (root !== "" && !root.startsWith("/")) throw refused("root", "should be an absolute path, like `/home/me/project`, or empty");
        if (!isPlace(place)) throw refused("place", "should be a path in the project, like `.portcullis`");
        return bytes;
    },

    // Each batch is an array of its own, whether or not it is the first: nothing says which batch is the last.
    render(prepared, records, _first) {
        return { bytes: asciiBytes(write(records, settings(prepared))), contentType: "application/json" };
    },
});
