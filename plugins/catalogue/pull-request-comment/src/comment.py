"""A comment, within its size: what matters most comes first, and what does not fit is counted."""

import json
from dataclasses import asdict, dataclass
from typing import Callable, Sequence, TypeVar

import records
from markdown import cell, code, fence
from records import Action, Summary
from wit_world.exports.exporter import AuditRecord

T = TypeVar("T")

# The most bytes of one text in a table, and of one in full.
_SHORT = 240
_LONG = 2000
# Room for what closes a section: how many more there are, and the end of details.
_RESERVE = 160
# The most rows of a section, and actions in full: a call has not the fuel for more.
_ROWS = 60
_IN_FULL = 24


@dataclass(frozen=True)
class Config:
    title: str = "Portcullis"
    least: str = "warn"
    details: bool = True
    most_characters: int = 65_536

    def to_bytes(self) -> bytes:
        return json.dumps(asdict(self)).encode()


class Comment:
    """Parts of a comment, of which each is added only where it fits."""

    def __init__(self, most: int) -> None:
        self._parts: list[str] = []
        # A character has at least one byte, so no way of counting finds more.
        self._left = most

    def add(self, part: str) -> None:
        """Adds what is always there."""
        self._parts.append(part)
        self._left -= len(part) if part.isascii() else len(part.encode())

    def section(self, head: str, items: Sequence[T], write: Callable[[T], str], tail: str = "", most: int = _ROWS) -> None:
        """Adds a heading and as many items as fit; nothing where there are none, or not even one fits."""
        added: list[str] = []
        left = self._left - _RESERVE - len(head)
        for item in items[:most]:
            part = write(item)
            left -= len(part) if part.isascii() else len(part.encode())
            if left < 0:
                break
            added.append(part)
        if not added:
            return
        self.add(head)
        self.add("".join(added))
        if len(added) < len(items):
            self.add(f"\n{len(items) - len(added)} more did not fit.\n")
        self.add(tail)

    def text(self) -> str:
        return "".join(self._parts)


def write(config: Config, batch: list[AuditRecord], first: bool) -> str:
    summary = records.summarize(batch)
    listed, others = summary.at_least(config.least)
    comment = Comment(config.most_characters)
    comment.add(head(config, batch, first))
    comment.add(counts(summary))
    comment.section("\n### Objections\n\n| record | verdict | action | why | by |\n|---:|---|---|---|---|\n", listed, objection)
    comment.section("\n### Detections\n\n| record | pattern | severity | what |\n|---:|---|---|---|\n", summary.detections, detection)
    comment.section("\n### Faults\n\n| record | fault | detail |\n|---:|---|---|\n", summary.faults, fault)
    comment.section("\n### Files changed\n\n", sorted(summary.files.items()), changed_file)
    if config.details:
        comment.section(details("These actions in full"), listed, in_full, "</details>\n", _IN_FULL)
        table = details("Other actions") + "| record | verdict | ended | action |\n|---:|---|---|---|\n"
        comment.section(table, others, line, "\n</details>\n")
    return comment.text()


def head(config: Config, batch: list[AuditRecord], first: bool) -> str:
    """The heading. The line before it is where one comment ends and the next begins."""
    span = f"records {batch[0].sequence} to {batch[-1].sequence}" if batch else "no records"
    rest = "" if first else ", continued"
    return f"<!-- portcullis: {span} -->\n## {config.title}{rest}: {span}\n\n"


def counts(summary: Summary) -> str:
    numbers = summary.counts()
    numbers += [("not reviewed", summary.unreviewed), ("detections", len(summary.detections))]
    numbers += [("interventions", summary.interventions), ("faults", len(summary.faults))]
    names = " | ".join(name for name, _ in numbers)
    values = " | ".join(str(number) for _, number in numbers)
    return f"| {names} |\n|{'---:|' * len(numbers)}\n| {values} |\n"


def details(title: str) -> str:
    # The blank line ends the block of HTML, so that Markdown follows.
    return f"\n<details><summary>{title}</summary>\n\n"


def objection(action: Action) -> str:
    record, decision = action.record, action.record.decision
    reasons = "; ".join(decision.reasons) if decision else ""
    sources = ", ".join(dict.fromkeys(decision.sources)) if decision else ""
    verdict, what = records.VERDICTS[action.verdict], cell(record.summary, _SHORT)
    return f"| {record.sequence} | **{verdict}** | {what} | {cell(reasons, 2 * _SHORT)} | {cell(sources, _SHORT)} |\n"


def detection(found: tuple[AuditRecord, str, str, str]) -> str:
    record, pattern, severity, words = found
    return f"| {record.sequence} | {cell(pattern, _SHORT)} | {severity} | {cell(words or record.summary, 2 * _SHORT)} |\n"


def fault(found: tuple[AuditRecord, str, str]) -> str:
    record, name, detail = found
    return f"| {record.sequence} | {cell(name, _SHORT)} | {cell(detail, _SHORT)} |\n"


def line(action: Action) -> str:
    record = action.record
    status = cell(action.status, 40) if action.status else ""
    return f"| {record.sequence} | {records.VERDICTS[action.verdict]} | {status} | {cell(record.summary, _SHORT)} |\n"


def changed_file(changed: tuple[str, list[str]]) -> str:
    path, changes = changed
    return f"- {code(path, _SHORT)} {', '.join(changes)}\n"


def in_full(action: Action) -> str:
    record, decision = action.record, action.record.decision
    head = f"Record {record.sequence}, {records.VERDICTS[action.verdict]}, session {code(record.session, _SHORT)}:"
    blocks = [head, "", fence(action.in_full(), _LONG)]
    if decision is not None and decision.reasons:
        blocks += ["", fence("\n".join(decision.reasons), _LONG)]
    return "\n".join(blocks) + "\n\n"
