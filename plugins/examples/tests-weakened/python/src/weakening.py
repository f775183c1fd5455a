"""What weakens tests."""

from dataclasses import dataclass
from enum import Enum

import changes
import runs
from tests_of import Project
from texts import BLANKS, count
from wit_world.imports.types import Access, Action, FileOperation, Operation_File, Operation_Shell, Severity, Shell

_MARKS = (
    "pytest.mark.skip",
    "pytest.mark.xfail",
    "pytest.skip(",
    "pytest.xfail(",
    "unittest.skip",
    "unittest.SkipTest",
    "SkipTest",
    ".skipTest(",
    "unittest.expectedFailure",
    "#[ignore",
    "it.skip(",
    "test.skip(",
    "describe.skip(",
    "it.only(",
    "test.only(",
    "describe.only(",
    "it.todo(",
    "test.todo(",
    "xit(",
    "xtest(",
    "xdescribe(",
    "fit(",
    "fdescribe(",
    "t.Skip",
    "@Disabled",
    "@Ignore",
    "(Skip =",
    "markTestSkipped(",
    "XCTSkip",
)
_TESTS = ("def test_", "#[test]", "it(", "test(", "func Test", "@Test")
_ASSERTIONS = ("assert", "expect(", "t.Error", "t.Fatal", "require.")
_OF_NOTHING = (
    "assert True",
    "assert 1 == 1",
    "assert(true)",
    "assert!(true)",
    "assertTrue(True)",
    "assertTrue(true)",
    "assert.ok(true)",
    "expect(true).toBe(true)",
)


class Kind(Enum):
    """How tests are weakened: the worst that it can mean, how much of them it touches, and its words."""

    DELETED = (Severity.HIGH, 800, "{thing} is deleted")
    MOVED = (Severity.HIGH, 800, "{thing} is moved to where no test runs")
    EMPTIED = (Severity.HIGH, 800, "{thing} is emptied")
    SKIPPED = (Severity.HIGH, 600, "a test in {thing} is skipped ({mark})")
    CUT = (Severity.HIGH, 600, "a test is taken out of {thing}")
    LOOSENED = (Severity.MEDIUM, 500, "assertions are taken out of {thing}")
    LEFT_OUT = (Severity.MEDIUM, 500, "tests are left out ({thing})")

    def __init__(self, severity: Severity, impact: int, words: str) -> None:
        self.severity = severity
        self.impact = impact
        self.words = words


@dataclass
class Weakening:
    """What weakens tests."""

    kind: Kind
    thing: str
    """The file's place, or what leaves them out."""
    mark: str | None = None
    """The mark that skips one."""

    def summary(self) -> str:
        """In words."""
        return self.kind.words.format(thing=self.thing, mark=self.mark)


def of(action: Action, project: Project) -> Weakening | None:
    """What an action does to the tests."""
    match action.operation:
        case Operation_Shell(shell):
            return _of_shell(shell, action, project)
        case Operation_File(file):
            return _of_file(file, project)
        case _:
            return None


def _of_shell(shell: Shell, action: Action, project: Project) -> Weakening | None:
    made = changes.by(shell, action)
    of_tests = [(change, place) for change in made if (place := project.test(change.path.text))]
    for kind, is_one in (
        (Kind.DELETED, lambda change: change.deletes()),
        (Kind.MOVED, lambda change: change.moves(made, project)),
        (Kind.EMPTIED, lambda change: change.empties()),
    ):
        for change, place in of_tests:
            if is_one(change):
                return Weakening(kind, place)
    for command in filter(runs.is_test_run, shell.commands):
        if thing := runs.left_out(command, shell):
            return Weakening(Kind.LEFT_OUT, thing)
    return None


def _of_file(file: FileOperation, project: Project) -> Weakening | None:
    place = project.test(file.path)
    if place is None:
        return None
    if file.access == Access.DELETE:
        return Weakening(Kind.DELETED, place)
    if file.content is None:
        return None
    if file.replaced is not None:
        return _of_edit(place, file.replaced, file.content)
    lines = (line.strip(BLANKS) for line in file.content.split("\n"))
    return Weakening(Kind.EMPTIED, place) if all(not line or line.startswith(("#", "//")) for line in lines) else None


def _of_edit(place: str, replaced: str, content: str) -> Weakening | None:
    old, new = _changed(replaced, content)
    for mark in _MARKS:
        now = count(new, mark, whole=True)
        if now and now > count(old, mark, whole=True):
            return Weakening(Kind.SKIPPED, place, mark)
    if _sum(new, _TESTS, whole=True) < _sum(old, _TESTS, whole=True):
        return Weakening(Kind.CUT, place)
    return Weakening(Kind.LOOSENED, place) if _assertions(new) < _assertions(old) else None


def _changed(replaced: str, content: str) -> tuple[str, str]:
    """Two texts without the lines that both begin with and both end with: these count in neither. A text may be long, and
    each character that is searched costs fuel."""
    old, new = replaced.split("\n"), content.split("\n")
    first = _same(old, new)
    old, new = old[first:], new[first:]
    last = _same(old[::-1], new[::-1])
    return "\n".join(old[: len(old) - last]), "\n".join(new[: len(new) - last])


def _same(old: list[str], new: list[str]) -> int:
    """How many lines two lists have in common at their beginning."""
    for at, (before, now) in enumerate(zip(old, new)):
        if before != now:
            return at
    return min(len(old), len(new))


def _assertions(text: str) -> int:
    return max(_sum(text, _ASSERTIONS, whole=False) - _sum(text, _OF_NOTHING, whole=False), 0)


def _sum(text: str, parts: tuple[str, ...], *, whole: bool) -> int:
    return sum(count(text, part, whole=whole) for part in parts)
