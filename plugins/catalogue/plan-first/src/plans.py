"""Whether a plan was asked for before, and whether one was written since then.

An intervention sees past actions as one line each, so what a line does not show is not claimed.
"""

import re
from dataclasses import dataclass
from typing import Optional

from wit_world.exports.intervener import Situation

_NAME = "plan-first"
# Tools that only look, whatever they name.
_LOOKS = ("Read", "Grep", "Glob", "LS", "NotebookRead", "WebFetch", "WebSearch")
# A shell's redirection, or a program that writes its operand, right before the file's name.
_WRITES = r"(?:>{1,2}\s*|\btee\s+(?:-a\s+)?|\b(?:cp|mv)\s+\S+\s+)['\"]?(?:\./)?"
_END = r"['\"]?(?=$|[\s;&|)<])"
_CUT = "…"


@dataclass(frozen=True)
class EarlierPlan:
    """A plan that was asked for at a step. `is_written` is none where that cannot be told."""

    asked: int
    is_written: Optional[bool]


def find(situation: Situation, plan_file: str, roots: list[str]) -> Optional[EarlierPlan]:
    """The newest plan that was asked for in this session, whatever it was for."""
    # An answer that a ladder names is `KIND:PLUGIN`.
    asked = next((past.step for past in situation.past if past.kind.replace("_", "-").endswith(_NAME)), None)
    if asked is None:
        return None
    since = situation.step - asked
    lines = situation.recent[-since:] if since > 0 else []
    if not plan_file:
        return EarlierPlan(asked, None)
    if any(_writes(line, plan_file, roots) for line in lines):
        return EarlierPlan(asked, True)
    # Numbers count the steps of all agents, so there may be fewer lines than steps; where a line was cut, or is
    # gone, a plan may have been written.
    is_whole = since <= len(situation.recent) and not any(line.endswith(_CUT) for line in lines)
    return EarlierPlan(asked, False if is_whole else None)


def _writes(line: str, plan_file: str, roots: list[str]) -> bool:
    tool, _, rest = line.partition(": ")
    if tool in _LOOKS:
        return False
    paths = [plan_file] + [f"{root.rstrip('/')}/{plan_file}" for root in roots]
    return rest in paths or any(re.search(_WRITES + re.escape(path) + _END, rest) for path in paths)
