"""What a comment tells of records. Nothing here is escaped: that is done where it is written.

Much of it is only in a record's document, which can have more than 100 KiB. A call has not the fuel to decode a hundred of
these, so single fields are, and only where they are needed.
"""

import json
from dataclasses import dataclass, field
from typing import Any, Iterable, Optional

from wit_world.exports.exporter import AuditRecord, RecordKind_Intervention, RecordKind_Outcome, RecordKind_Unreviewed

# From the mildest to the strictest, as the interface numbers them.
VERDICTS = ("allow", "warn", "modify", "ask", "block")
_SEVERITIES = ("low", "medium", "high", "critical")
_CHANGES = {"file-create": "created", "file-modify": "modified", "file-delete": "deleted"}
_DECODER = json.JSONDecoder()


@dataclass
class Action:
    """A review, with what came of it if that is among the records."""

    record: AuditRecord
    verdict: int
    status: str = ""

    def in_full(self) -> str:
        """The command as it was given; of another action, its summary."""
        parameters = decoded(decoded_field(self.record.document, "parameters"))
        command = parameters.get("command") if isinstance(parameters, dict) else None
        return command if command and isinstance(command, str) else self.record.summary


@dataclass
class Summary:
    actions: list[Action] = field(default_factory=list)
    detections: list[tuple[AuditRecord, str, str, str]] = field(default_factory=list)
    # A changed path, and how.
    files: dict[str, list[str]] = field(default_factory=dict)
    unreviewed: int = 0
    interventions: int = 0
    faults: list[tuple[AuditRecord, str, str]] = field(default_factory=list)

    def counts(self) -> list[tuple[str, int]]:
        verdicts = [action.verdict for action in self.actions]
        return [(name, verdicts.count(verdict)) for verdict, name in enumerate(VERDICTS)]

    def at_least(self, verdict: str) -> tuple[list[Action], list[Action]]:
        """The actions with this verdict or a stricter one, the strictest first, and the others."""
        least = VERDICTS.index(verdict)
        found = sorted((action for action in self.actions if action.verdict >= least), key=lambda action: -action.verdict)
        return found, [action for action in self.actions if action.verdict < least]


def summarize(records: Iterable[AuditRecord]) -> Summary:
    summary = Summary()
    by_id: dict[str, Action] = {}
    for record in records:
        kind = type(record.kind)
        if record.decision is not None:
            action = by_id[record.id] = Action(record, record.decision.verdict.value)
            summary.actions.append(action)
        elif kind is RecordKind_Outcome:
            reviewed = by_id.get(text_after(record.document, '"review":"', from_end=True))
            if reviewed is not None:
                reviewed.status = text_after(record.document, '"status":"')
        elif kind is RecordKind_Unreviewed:
            summary.unreviewed += 1
        elif kind is RecordKind_Intervention:
            summary.interventions += 1
        if record.detections:
            findings = words_of_detections(decoded_field(record.document, "detections", from_end=True))
            for found in record.detections:
                severity = _SEVERITIES[found.severity.value]
                summary.detections.append((record, found.pattern, severity, findings.get(found.pattern, "")))
        for fault in record.faults:
            summary.faults.append((record, f"{fault.source}: {fault.name}", fault.detail))
    for action in summary.actions:
        # What is blocked, fails or is refused changes nothing that is certain.
        if action.verdict < 4 and action.status not in ("refused", "failed"):
            note_files(summary.files, action)
    return summary


def note_files(files: dict[str, list[str]], action: Action) -> None:
    """Adds what an action surely changes."""
    document = action.record.document
    start = document.rfind('"facts":')
    end = document.find('"cwd":', start)
    facts = document[start:end] if 0 <= start < end else ""
    if not any(kind in facts for kind in _CHANGES):
        return
    read = decoded_field(facts, "facts")
    folder = text_after(document[end : end + 4096], '"cwd":"').rstrip("/") + "/"
    paths = read.get("paths") if isinstance(read, dict) else None
    effects = read.get("effects") if isinstance(read, dict) else None
    if not isinstance(paths, list) or not isinstance(effects, list):
        return
    for effect in effects:
        change = _CHANGES.get(str(effect.get("kind"))) if isinstance(effect, dict) else None
        if change is None or effect.get("certain") is not True:
            continue
        index = effect.get("path")
        path = paths[index] if isinstance(index, int) and 0 <= index < len(paths) else None
        text = path.get("text") if isinstance(path, dict) else None
        if not isinstance(text, str):
            continue
        # Within the folder of the action a path is told as a person there would write it.
        changes = files.setdefault(text.removeprefix(folder), [])
        # Nobody told that it has run, or that was in another batch.
        words = change if action.status == "ok" else f"perhaps {change}"
        if words not in changes and change not in changes:
            changes.append(words)


def words_of_detections(findings: Any) -> dict[str, str]:
    """The words of detections by pattern, which only the document has."""
    words = {}
    for named in findings if isinstance(findings, list) else []:
        finding = named.get("finding") if isinstance(named, dict) else None
        if isinstance(finding, dict) and isinstance(finding.get("pattern"), str) and isinstance(finding.get("summary"), str):
            words.setdefault(finding["pattern"], finding["summary"])
    return words


def text_after(document: str, key: str, from_end: bool = False) -> str:
    """The plain text that follows a key with its quotation mark; empty where it is no such text.

    No text in a document looks like a field: its quotation marks are escaped.
    """
    start = document.rfind(key) if from_end else document.find(key)
    if start < 0:
        return ""
    start += len(key)
    end = document.find('"', start)
    text = document[start:end] if end >= 0 else ""
    return text if "\\" not in text else ""


def decoded_field(document: str, name: str, from_end: bool = False) -> Any:
    """The value of a field, wherever it is in a document; none where there is none."""
    key = f'"{name}":'
    start = document.rfind(key) if from_end else document.find(key)
    try:
        return _DECODER.raw_decode(document, start + len(key))[0] if start >= 0 else None
    except (ValueError, RecursionError):
        return None


def decoded(text: Any) -> Any:
    """The value of a JSON text."""
    try:
        return json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return None
