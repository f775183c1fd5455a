"""What the agent is to have before it while it plans, and the limits until then."""

import values as named
from config import Config
from texts import line, listed
from wit_world.exports.intervener import Background, Issue, Situation
from wit_world.imports.types import (
    Context,
    Limit,
    Quantity_FileOperations,
    Quantity_Time,
    Quantity_Tokens,
    Verdict,
)

# Limits that a plan makes do with less of. Memory and processes are what they are.
_TIGHTENED = (Quantity_FileOperations, Quantity_Time, Quantity_Tokens)
_DONE = 8


def background(issue: Issue, situation: Situation, context: Context) -> list[Background]:
    """The request, its constraints and boundaries, and what was done."""
    goals = named.by_priority(context.goals)
    first = line(goals[-1].text) if goals else ""
    newest = line(goals[0].text) if len(goals) > 1 else ""
    facts = [
        ("original-request", first, True),
        ("newest-request", newest, True),
        ("constraints", constraints(issue, context), True),
        ("boundaries", boundaries(context), False),
        ("done-so-far", done(situation), False),
    ]
    return [Background(title, line(text), emphasised) for title, text, emphasised in facts if text]


def constraints(issue: Issue, context: Context) -> str:
    """What the plan has to keep to: what objects to the action, and what a rule offers instead."""
    rules = listed(rule for found in context.assessments if found.verdict is not Verdict.ALLOW for rule in found.rules)
    alternatives = listed(named.evidence(issue, "alternative"))
    refused = listed(named.evidence(issue, "refused"))
    parts = [
        rules and f"rules that object to this action: {rules}",
        refused and f"refused before: {refused}",
        alternatives and f"what can be done instead: {alternatives}",
    ]
    return "; ".join(part for part in parts if part)


def boundaries(context: Context) -> str:
    """Where the work is, and what is left for it."""
    folders = listed(context.roots)
    left = listed((amount_left(limit) for limit in context.limits if limit.used < limit.maximum), 6)
    parts = [folders and f"the work is in {folders}", left and f"left until the next prompt: {left}"]
    return "; ".join(part for part in parts if part)


def amount_left(limit: Limit) -> str:
    return f"{named.name_of(limit)} {named.amount(limit.quantity, limit.maximum - limit.used)}"


def done(situation: Situation) -> str:
    """The newest actions, the newest first, and how the session went."""
    totals = situation.totals
    counts = [(totals.steps, "steps"), (totals.files, "files written or deleted"), (totals.failed, "failed"), (totals.blocked, "blocked")]
    summed = ", ".join(f"{count} {name}" for count, name in counts if count > 0)
    recent = listed((line(one, 60) for one in reversed(situation.recent)), _DONE)
    return ": ".join(part for part in (summed, recent) if part)


def limits(config: Config, context: Context) -> list[Limit]:
    """Limits of which a share of what is left stays; at least one operation, for the plan itself."""
    tightened = []
    for limit in context.limits:
        left = limit.maximum - limit.used
        if not isinstance(limit.quantity, _TIGHTENED) or left <= 1:
            continue
        maximum = limit.used + max(1, left * config.tighten // 100)
        if maximum < limit.maximum:
            tightened.append(Limit(limit.quantity, maximum, limit.used))
    return tightened
