"""Has the agent write a short plan and get it confirmed before it goes on.

How far it goes follows the host's escalation: a plan, a plan with background under tighter limits, and then the person.
"""

from dataclasses import dataclass
from typing import Optional

import config as settings
import facts
import handover
import plans
import portcullis
import texts
import values as named
from config import Config
from plans import EarlierPlan
from wit_world import exports
from wit_world.exports.intervener import (
    Guidance,
    Issue,
    Response,
    Response_Guide,
    Response_RecoveryNeeded,
    Response_Rollback,
    Response_Stop,
    Rollback,
    Situation,
)
from wit_world.imports import host
from wit_world.imports.types import Context, Setting, Severity
from wording import Wording

# The host takes no more messages than this.
_MESSAGES = 8


@portcullis.telling
class Intervener(exports.Intervener):
    def prepare(self, given: list[Setting]) -> bytes:
        return settings.check(given)

    def intervene(self, prepared: bytes, issue: Issue, situation: Situation, context: Context) -> Response:
        config = settings.read(prepared).within(context)
        earlier = plans.find(situation, config.plan_file, context.roots)
        values = named.of(issue, situation, context, config.plan_file)
        if earlier is not None:
            values["plan_step"] = str(earlier.asked)
        wording = Wording(config, situation.templates, values)
        try:
            return Answer(config, issue, situation, context, earlier, wording).response()
        except texts.BadTemplate as error:
            # A template that the host passes along is checked here for the first time.
            host.log(host.Level.WARN, f"a template cannot be filled: {error}")
            return Answer(config, issue, situation, context, earlier, Wording(Config(), [], values)).response()


@dataclass(frozen=True)
class Answer:
    """What an answer is made of."""

    config: Config
    issue: Issue
    situation: Situation
    context: Context
    earlier: Optional[EarlierPlan]
    wording: Wording

    def response(self) -> Response:
        config, level = self.config, self.situation.level
        if self.issue.severity is Severity.CRITICAL or level >= config.stop_from:
            return self._hand_over()
        guidance = Guidance(self._planning(self.earlier), [], [])
        if level >= config.background_from:
            guidance.background = facts.background(self.issue, self.situation, self.context)
            if config.allows("limits"):
                guidance.limits = facts.limits(config, self.context)
        return Response_Guide(guidance)

    def _hand_over(self) -> Response:
        config, told = self.config, (self.issue, self.situation, self.context)
        background = facts.background(*told)
        if not config.allows("checkpoint"):
            last_word = self.wording.issue(self.issue.name) + self.wording.part("last_word")
            limits = facts.limits(config, self.context) if config.allows("limits") else []
            return Response_Guide(Guidance(last_word[-_MESSAGES:], background, limits))
        checkpoint = handover.safe_checkpoint(config, self.issue, self.situation)
        if checkpoint is not None:
            report = handover.report_of(*told, self.earlier)
            # A rollback has no report of its own: the agent passes it on.
            lines = [f"For the person: {report.root_cause}", *(f"Also: {factor}" for factor in report.contributing_factors)]
            messages = ([texts.line(text) for text in lines] + self._planning(None))[:_MESSAGES]
            return Response_Rollback(Rollback(checkpoint.id, Guidance(messages, background, [])))
        if config.allows("stop"):
            return Response_Stop(handover.stop(*told, self.earlier))
        return Response_RecoveryNeeded(handover.plan_for_person(*told, self.earlier))

    def _planning(self, earlier: Optional[EarlierPlan]) -> list[str]:
        """What is wrong, what became of an earlier plan, what to plan, and what to wait for."""
        config, wording = self.config, self.wording
        plan = wording.part("plan") if config.plan_file else wording.part("plan_said")
        if earlier is not None and config.plan_file:
            if earlier.is_written:
                plan = wording.part("again")
            elif earlier.is_written is False:
                plan = wording.part("missing") + plan
        end = wording.part("confirm") if config.confirm else wording.part("proceed")
        # What to do is kept where it would be too much.
        rest = (plan + end)[:_MESSAGES]
        return wording.issue(self.issue.name)[: _MESSAGES - len(rest)] + rest
