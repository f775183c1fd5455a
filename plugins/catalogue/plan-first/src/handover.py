"""The end of what a plan can do: a safe checkpoint, or a stop with a report for the person."""

from typing import Optional

import values as named
from config import Config
from plans import EarlierPlan
from texts import line, listed
from wit_world.exports.intervener import Checkpoint, Issue, Plan, Situation, Stop, StopReport
from wit_world.imports.types import Context

_CAUSES = {
    "scope_creep": "the work went on outside the folders that this session is for",
    "goal_drift": "the steps did not serve what was asked for",
    "resource_spiral": "the use of resources went on growing",
    "token_budget": "the budget was used up before the work was done",
    "repetitive_errors": "the same failure came back without its cause being removed",
    "loop": "the same steps came back with the same results",
    "stuck_agent": "the work went to and fro without a result",
    "hallucination": "the work relied on things that do not exist",
    "blocked_then_bypassed": "what was refused was tried again in other forms",
    "secret_egress": "a secret was read and may have left this machine",
    "instruction_injection": "text from outside gave the agent instructions",
}


def safe_checkpoint(config: Config, issue: Issue, situation: Situation) -> Optional[Checkpoint]:
    """The newest checkpoint from before the issue began that nothing speaks against."""

    def is_safe(checkpoint: Checkpoint) -> bool:
        is_before = checkpoint.step <= issue.first_step
        return checkpoint.unsafe_because is None and is_before and checkpoint.success_rate >= 10 * config.least_success

    safe = filter(is_safe, situation.checkpoints)
    return max(safe, key=lambda checkpoint: (checkpoint.step, checkpoint.at), default=None)


def plan_for_person(issue: Issue, situation: Situation, context: Context, earlier: Optional[EarlierPlan]) -> Plan:
    """What the person does where no checkpoint is safe, and the plugin may not stop the session."""
    report = report_of(issue, situation, context, earlier)
    return Plan(f"{report.root_cause}; no checkpoint is safe to go back to", report.immediate + report.preventive)


def stop(issue: Issue, situation: Situation, context: Context, earlier: Optional[EarlierPlan]) -> Stop:
    report = report_of(issue, situation, context, earlier)
    advice = "Agent: do not go on in another way; tell the person what is done and what is not."
    return Stop(line(f"This session was stopped: {report.root_cause}. {advice}"), report)


def report_of(issue: Issue, situation: Situation, context: Context, earlier: Optional[EarlierPlan]) -> StopReport:
    cause = _CAUSES.get(issue.name, "a rule was broken" if issue.name.startswith("rule:") else "a check found what plans did not end")
    return StopReport(
        root_cause=line(f"{cause}: {line(issue.summary, 240)}"),
        contributing_factors=factors(issue, situation, context, earlier),
        immediate=immediate(issue, situation),
        preventive=preventive(context),
        configuration=[
            f"A ladder of its own for {line(issue.name, 64)} in interventions.ladders decides what comes before this answer.",
            "plugins.plan-first.settings.stop_from decides how many plans come before it.",
        ],
    )


def factors(issue: Issue, situation: Situation, context: Context, earlier: Optional[EarlierPlan]) -> list[str]:
    """What else played a part, each with a number of the session."""
    totals = situation.totals
    found = []
    if issue.recurrences > 0:
        found.append(f"it came up {times(issue.recurrences)} before in this session")
    if earlier is not None:
        found.append(plan_factor(earlier))
    if totals.failed > 0 and 4 * totals.failed >= totals.steps:
        found.append(f"{totals.failed} of {totals.steps} steps failed")
    if totals.blocked > 0:
        found.append(f"{totals.blocked} steps were blocked")
    if not context.goals:
        found.append("no request was stated, so no plan could be compared with one")
    used_up = [named.limit(limit) for limit in context.limits if limit.maximum > 0 and 10 * limit.used >= 9 * limit.maximum]
    if used_up:
        found.append(f"limits are nearly used up: {listed(used_up)}")
    return [line(one) for one in found]


def plan_factor(earlier: EarlierPlan) -> str:
    asked = f"a plan was asked for at step {earlier.asked}"
    if earlier.is_written is None:
        return asked
    return f"{asked} and written, and did not keep it from coming back" if earlier.is_written else f"{asked}, and none was written"


def immediate(issue: Issue, situation: Situation) -> list[str]:
    paths, hosts = listed(named.evidence(issue, "path")), listed(named.evidence(issue, "host"))
    recent = listed(reversed(situation.recent), 5)
    steps = [
        f"Read what was done since step {issue.first_step}" + (f": {recent}" if recent else ""),
        paths and f"Look over these, and undo what should not be there: {paths}",
        hosts and f"Find out what was sent to: {hosts}",
        *map(not_taken, situation.checkpoints[:3]),
        "Say what is to be done now in a narrower request, or do the next step yourself.",
    ]
    return [line(step) for step in steps if step]


def not_taken(checkpoint: Checkpoint) -> str:
    return f"The checkpoint {line(checkpoint.id, 80)} from before step {checkpoint.step} was not taken: {objection(checkpoint)}"


def objection(checkpoint: Checkpoint) -> str:
    if checkpoint.unsafe_because is not None:
        return line(checkpoint.unsafe_because, 160) or "it is marked as unsafe"
    return "it was taken after this began, or too many steps before it failed"


def preventive(context: Context) -> list[str]:
    steps = [
        "Ask for a plan in the request itself, and confirm it before the work begins.",
        "Split the request, and say how each part is checked.",
    ]
    if not context.goals:
        steps.insert(0, "State what is to be done and what is not part of it.")
    return steps


def times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
