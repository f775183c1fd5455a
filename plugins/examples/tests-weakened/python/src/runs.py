"""Test runs: which commands are some, and what they leave out."""

import re

from memory import Memory
from tests_of import is_never_one
from wit_world.imports.types import Action, Command, Operation_Shell, Outcome, Shell, Status

_RUNNERS = frozenset("pytest py.test jest vitest mocha ctest rspec phpunit nosetests tox unittest".split())
_TOOLS = frozenset("cargo go npm pnpm yarn bun deno make just mvn mvnw gradle gradlew dotnet mix swift rake".split())
_TASKS = frozenset("test tests check nextest verify".split())
_LEAVE_OUT = frozenset(
    "--deselect --ignore --ignore-glob --skip -skip --exclude-regex --testPathIgnorePatterns -DskipTests -Dmaven.test.skip".split()
)
_HIDES = ("|| true", "||true", "|| :", "|| exit 0")


def ended(action: Action, outcome: Outcome) -> bytes | None:
    """The state after an action; none where it tells nothing of the tests."""
    if not isinstance(action.operation, Operation_Shell):
        return None
    shell = action.operation.value
    runs = [command for command in shell.commands if is_test_run(command)]
    if not runs or any(left_out(run, shell) for run in runs):
        return None
    match outcome.status:
        case Status.FAILED:
            return Memory.of(action.step, outcome.error, outcome.output).state()
        case Status.OK:
            return b""
        case _:
            return None


def is_test_run(command: Command) -> bool:
    """Whether a command runs tests."""
    words = {word.text for word in command.words}
    if command.program in _TOOLS:
        return not _TASKS.isdisjoint(words) or any(word.startswith("test:") for word in words)
    if command.program in ("python", "python3"):
        return "unittest" in words or "pytest" in words
    return command.program in _RUNNERS


def left_out(command: Command, shell: Shell) -> str | None:
    """What a test run leaves out."""
    words = [word.text for word in command.words]
    by_words = filter(None, map(_by_word, words, [*words[1:], None]))
    return next(by_words, None) or _hidden(command, shell)


def _by_word(word: str, after: str | None) -> str | None:
    if word in ("-k", "-m"):
        chooses = after is not None and (after.startswith("not ") or " not " in after)
        return f"{word} {after}" if chooses else None
    option, equals, value = word.partition("=")
    if option not in _LEAVE_OUT or is_never_one(value if equals else after or ""):
        return None
    return word if equals or after is None else f"{word} {after}"


def _hidden(command: Command, shell: Shell) -> str | None:
    # Places in a text are counted in bytes.
    rest = re.split(rb";|&&|\n", shell.text.encode()[command.start :], maxsplit=1)[0].decode()
    return next((hides for hides in _HIDES if hides in rest), None)
