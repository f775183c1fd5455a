// Writes a line a record: number, kind, verdict and summary, with tabs between.

import type { AuditRecord, Exporter } from "portcullis:plugin/exporter@0.1.0";
import { bytesOf, prepared, telling } from "./portcullis.ts";

export const exporter = telling<Exporter>({
    prepare(given) {
        return prepared(given, {});
    },

    render(_prepared, records, first) {
        const heading = first ? "number\tkind\tverdict\tsummary\n" : "";
        return { bytes: bytesOf(heading + records.map(line).join("")), contentType: "text/tab-separated-values; charset=utf-8" };
    },
});

function line({ sequence, kind, decision, summary }: AuditRecord): string {
    const name = kind.tag === "other" ? kind.val : kind.tag;
    return `${sequence}\t${name}\t${decision?.verdict ?? ""}\t${plain(summary)}\n`;
}

/** A summary repeats what an agent wrote: nothing in it may begin a line or a column of its own. */
function plain(text: string): string {
    return text.replace(/[\x00-\x1f\x7f-\x9f]/g, " ");
}
