"""Whether tests are to pass, and whether the person asked for fewer of them."""

from texts import words
from wit_world.imports.types import Goal

_TESTS = frozenset("test tests testing unittest unittests suite spec specs ci pytest jest".split())
_PASS = frozenset("pass passes passing green fix fixes fixed fixing fail fails failed failing failures red broken repair".split())
_ASK = frozenset(
    "delete deleting remove removing drop skip skipping disable ignore xfail exclude obsolete loosen move".split()
)
_NOT = frozenset("not don dont never without no avoid instead".split())
# How far before a word it is taken back.
_REACH = 3


def want_tests_to_pass(goals: list[Goal]) -> bool:
    """Some goal wants them to pass."""
    return any(not _TESTS.isdisjoint(said) and not _PASS.isdisjoint(said) for said in (words(goal.text) for goal in goals))


def ask_for_it(goals: list[Goal]) -> bool:
    """The newest goal asks for fewer tests."""
    said = words(goals[-1].text) if goals else []
    asked = (word in _ASK and _NOT.isdisjoint(said[max(at - _REACH, 0) : at]) for at, word in enumerate(said))
    return not _TESTS.isdisjoint(said) and any(asked)
