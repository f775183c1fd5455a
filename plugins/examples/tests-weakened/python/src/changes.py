"""What a command line does to files: which changes delete, move or empty one."""

from dataclasses import dataclass

import tests_of
from tests_of import Project
from texts import BLANKS
from wit_world.imports.types import (
    Action,
    Command,
    Direction,
    EffectKind,
    EffectKind_FileCreate,
    EffectKind_FileDelete,
    EffectKind_FileModify,
    Entry,
    Path,
    Shell,
)


@dataclass(eq=False)
class Change:
    """A change of a path."""

    kind: EffectKind
    path: Path
    command: Command | None
    """The command that makes it."""

    def deletes(self) -> bool:
        return isinstance(self.kind, EffectKind_FileDelete) or (self.command is not None and _is_of_git(self.command, "rm"))

    def moves(self, changes: list["Change"], project: Project) -> bool:
        """It moves a test to where it is none."""
        if self.command is None or not (self.command.program == "mv" or _is_of_git(self.command, "mv")):
            return False
        own = [change for change in changes if change.command is self.command and ".git" not in change.path.text.split("/")]
        first = any(word == "-t" or word.startswith("--target-directory") for word in _words(self.command))
        target = (own[0] if first else own[-1]) if own else self
        return target is not self and not _keeps(self.path, target.path, project)

    def empties(self) -> bool:
        if isinstance(self.kind, EffectKind_FileDelete):
            return False
        if self.command is None:
            return True
        words = _words(self.command)
        match self.command.program:
            case ":" | "true" | "truncate":
                return True
            case "cp":
                return words[:1] == ["/dev/null"]
            case "cat":
                return words == ["/dev/null"]
            case "echo" | "printf":
                printed = "".join(words[1:] if words[:1] == ["-n"] else words)
                appends = any(redirection.direction == Direction.APPEND for redirection in self.command.redirections)
                return not printed.replace("\\n", "").strip(BLANKS) and not appends
            case _:
                return False


def by(shell: Shell, action: Action) -> list[Change]:
    """The changes that a command line makes, in order."""
    changes = []
    for effect in action.facts.effects:
        if isinstance(effect.kind, (EffectKind_FileCreate, EffectKind_FileModify, EffectKind_FileDelete)) and effect.path is not None:
            command = None if effect.command is None else shell.commands[effect.command]
            changes.append(Change(effect.kind, action.facts.paths[effect.path], command))
    return changes


def _words(command: Command) -> list[str]:
    return [word.text for word in command.words]


def _is_of_git(command: Command, name: str) -> bool:
    """`git rm`, for `rm`."""
    return command.program == "git" and _words(command)[:1] == [name]


def _keeps(source: Path, target: Path, project: Project) -> bool:
    """A test that is moved there is a test still."""
    name, last = tests_of.name(source.text), tests_of.name(target.text)
    into = target.entry == Entry.FOLDER or ("." not in last and "." in name)
    end = f"{target.text}/{name}" if into else target.text
    if tests_of.is_named_as_test(name):
        return project.place(end) is not None and tests_of.is_named_as_test(tests_of.name(end))
    return project.test(end) is not None
