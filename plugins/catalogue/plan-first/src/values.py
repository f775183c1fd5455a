"""The details of an issue, by the names that a template knows them by."""

from texts import SENTENCE, VALUE, line, listed
from wit_world.exports.intervener import Issue, Situation
from wit_world.imports.types import (
    Context,
    Goal,
    Limit,
    Quantity_BatchSize,
    Quantity_FileOperations,
    Quantity_Memory,
    Quantity_Other,
    Quantity_Time,
    Quantity_Tokens,
)

# Every name, so that a template can be checked when it is set; those of evidence are `evidence.KIND`.
NAMES = (
    *("issue", "rule", "severity", "summary", "step", "first_step", "recurrences", "level"),
    *("request", "original_request", "folders", "limits", "recent", "steps", "files", "failed", "blocked", "tokens"),
    *("path", "command", "host", "error", "plan_file", "plan_step"),
)
_RECENT = 6
_NAMES = {
    Quantity_FileOperations: "file operations",
    Quantity_Memory: "memory",
    Quantity_Tokens: "tokens",
    Quantity_Time: "time",
    Quantity_BatchSize: "batch size",
}


def of(issue: Issue, situation: Situation, context: Context, plan_file: str) -> dict[str, str]:
    """All values; an empty one is not known."""
    totals = situation.totals
    goals = by_priority(context.goals)
    values = {
        "issue": line(issue.name, VALUE),
        "rule": line(issue.name.removeprefix("rule:"), VALUE) if issue.name.startswith("rule:") else "",
        "severity": issue.severity.name.lower(),
        # The other sentences need room for themselves, so a summary gets two thirds of one.
        "summary": line(issue.summary, SENTENCE * 2 // 3),
        "step": str(situation.step),
        "first_step": str(issue.first_step),
        "recurrences": number(issue.recurrences),
        "level": str(situation.level),
        "request": line(goals[0].text, 240) if goals else "",
        "original_request": line(goals[-1].text, 240) if len(goals) > 1 else "",
        "folders": listed(context.roots),
        "limits": listed(map(limit, context.limits), 6),
        "recent": listed(reversed(situation.recent), _RECENT),
        "steps": number(totals.steps),
        "files": number(totals.files),
        "failed": number(totals.failed),
        "blocked": number(totals.blocked),
        "tokens": number(totals.tokens),
        "plan_file": plan_file,
        "plan_step": "",
    }
    for kind in ("path", "command", "host", "error"):
        values[kind] = line(next(iter(evidence(issue, kind)), ""), VALUE)
    for kind in {item.kind for item in issue.evidence}:
        values[f"evidence.{kind}"] = listed(evidence(issue, kind))
    return values


def by_priority(goals: list[Goal]) -> list[Goal]:
    """What the person asked for, the newest first, as far as it says anything."""
    return sorted((goal for goal in goals if line(goal.text)), key=lambda goal: goal.priority)


def evidence(issue: Issue, kind: str) -> list[str]:
    return [item.value for item in issue.evidence if item.kind == kind and line(item.value)]


def number(count: int) -> str:
    return str(count) if count > 0 else ""


def limit(limit: Limit) -> str:
    """`tokens 10 of 20`."""
    quantity = limit.quantity
    return f"{name_of(limit)} {amount(quantity, limit.used)} of {amount(quantity, limit.maximum)}"


def name_of(limit: Limit) -> str:
    quantity = limit.quantity
    if isinstance(quantity, Quantity_Other):
        return line(quantity.value, 40)
    return _NAMES[type(quantity)]


def amount(quantity: object, value: int) -> str:
    if isinstance(quantity, Quantity_Time):
        return f"{value // 60_000} min" if value >= 60_000 else f"{value // 1000} s"
    if isinstance(quantity, Quantity_Memory):
        return f"{value >> 20} MB"
    return str(value)
