"""Writes a line a record: number, kind, verdict and summary, with tabs between."""

import re

import portcullis
from wit_world import exports
from wit_world.exports.exporter import AuditRecord, RecordKind, RecordKind_Other, Rendered
from wit_world.imports.types import Setting


@portcullis.telling
class Exporter(exports.Exporter):
    def prepare(self, settings: list[Setting]) -> bytes:
        return portcullis.prepared(settings, {})

    def render(self, prepared: bytes, records: list[AuditRecord], first: bool) -> Rendered:
        lines = ["number\tkind\tverdict\tsummary\n"] if first else []
        for record in records:
            verdict = record.decision.verdict.name.lower() if record.decision else ""
            lines.append(f"{record.sequence}\t{name(record.kind)}\t{verdict}\t{plain(record.summary)}\n")
        return Rendered("".join(lines).encode(), "text/tab-separated-values; charset=utf-8")


def name(kind: RecordKind) -> str:
    """`review`, `outcome`, ..."""
    return kind.value if isinstance(kind, RecordKind_Other) else type(kind).__name__.removeprefix("RecordKind_").lower()


def plain(text: str) -> str:
    """A summary repeats what an agent wrote: nothing in it may begin a line or a column of its own."""
    return re.sub("[\x00-\x1f\x7f-\x9f]", " ", text)
