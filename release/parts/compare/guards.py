"""The guards that are compared: where each comes from, how its own documentation sets it up, and where it keeps what.

The versions are pinned here and nowhere else. A guard gets the set-up that it recommends for Claude Code, with nothing
switched off and nothing added.
"""

import json
import shutil
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

from parts.compare.box import Box, size_of

DENY = json.dumps(
    {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": "hashimori: hook failed to run: failing closed",
        }
    }
)


class CannotInstall(Exception):
    pass


@dataclass(frozen=True)
class Guard:
    name: str
    title: str
    registry: str
    package: str
    version: str
    licence: str
    # The program that its hooks start, as a pattern in the folder of the guard.
    program: str
    # Puts its hooks into the settings of the client in a box.
    set_up: Callable[[Path, Box], None]
    # What it keeps, from the home of the box on.
    state: str
    # Commands that could notice a changed record. Words that begin with @ are programs of the guard.
    checks: tuple[tuple[str, ...], ...]
    # Turns one refusal in its journal into a permission; returns whether there was one.
    tamper: Callable[[Box], bool]
    # Brings back what the last action deleted, if it can.
    restore: tuple[str, ...] = ()
    # Where its programs are.
    programs: str = "bin"

    def words(self, place: Path, command: tuple[str, ...]) -> list:
        return [place / self.programs / word[1:] if word.startswith("@") else word for word in command]


def install(guard: Guard, place: Path, portcullis: Path, root: Path) -> None:
    """Installs a guard into a folder, unless this version is there."""
    mark = place / "compare-version"
    if guard.name != "portcullis" and mark.exists() and mark.read_text() == guard.version:
        return
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    try:
        INSTALLERS[guard.registry](guard, place, portcullis, root)
    except (OSError, subprocess.CalledProcessError) as error:
        output = getattr(error, "stderr", "") or ""
        raise CannotInstall(f"{guard.title} {guard.version} cannot be installed from {guard.registry}: {error}\n{output[-2000:]}")
    if not list(place.glob(guard.program)):
        raise CannotInstall(f"{guard.title} {guard.version} from {guard.registry} has no `{guard.program}`")
    mark.write_text(guard.version)


def copy_build(guard: Guard, place: Path, portcullis: Path, root: Path) -> None:
    (place / "bin").mkdir()
    for name in ("portcullis", "portcullis-hook"):
        shutil.copy2(portcullis.with_name(name), place / "bin" / name)


def install_from_pypi(guard: Guard, place: Path, portcullis: Path, root: Path) -> None:
    run([sys.executable, "-m", "venv", "--without-pip", place], root)
    pip = [sys.executable, "-m", "pip", "--python", place / "bin/python", "--disable-pip-version-check"]
    run([*pip, "install", "--quiet", f"{guard.package}=={guard.version}"], root)


def install_from_npm(guard: Guard, place: Path, portcullis: Path, root: Path) -> None:
    options = ["--no-audit", "--no-fund", "--ignore-scripts", "--loglevel", "error"]
    run(["npm", "install", *options, "--prefix", place, f"{guard.package}@{guard.version}"], place)


INSTALLERS = {
    "this repository": copy_build,
    "PyPI": install_from_pypi,
    "npm": install_from_npm,
}


def run(command: list, folder: Path) -> None:
    subprocess.run(list(map(str, command)), cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def installed_size(guard: Guard, place: Path) -> int:
    return size_of(place) - size_of(place / "compare-version")


def set_up(box: Box, *command, tries: int = 1) -> None:
    for number in range(tries):
        if number:
            time.sleep(5)
        try:
            ended = box.run(list(command))
        except (OSError, subprocess.TimeoutExpired) as error:
            raise CannotInstall(f"a guard cannot be set up: {error}") from error
        if ended.returncode == 0:
            return
    raise CannotInstall(f"`{' '.join(map(str, command))}` ended with {ended.returncode}\n{ended.stdout}{ended.stderr}")


def write_hooks(box: Box, hooks: dict[str, str]) -> None:
    """Writes hooks that the documentation of a guard has one copy into the settings."""
    groups = {event: [{"hooks": [{"type": "command", "command": command}]}] for event, command in hooks.items()}
    (box.home / ".claude/settings.json").write_text(json.dumps({"hooks": groups}))


def set_up_portcullis(place: Path, box: Box) -> None:
    set_up(box, place / "bin/portcullis", "install", "claude", "--yes")


def set_up_hol_guard(place: Path, box: Box) -> None:
    # On a busy machine, its daemon is not ready in time, and it asks for another try.
    set_up(box, place / "bin/hol-guard", "bootstrap", "claude-code", "--json", tries=6)


def set_up_hashimori(place: Path, box: Box) -> None:
    write_hooks(box, {"PreToolUse": f"hashimori hook pre || echo '{DENY}'", "PostToolUse": "hashimori hook post || true"})


def set_up_safety_net(place: Path, box: Box) -> None:
    # The hook of its plugin for Claude Code, which the client would get from a marketplace.
    program = place / "node_modules/cc-safety-net/dist/bin/cc-safety-net.js"
    write_hooks(box, {"PreToolUse": f'node "{program}" hook --coding-cli'})


def change_row(path: str, table: str, column: str, old: str, new: str) -> Callable[[Box], bool]:
    """Changes one row of a database."""

    def change(box: Box) -> bool:
        with closing(sqlite3.connect(box.home / path)) as database, database:
            chosen = f"SELECT rowid FROM {table} WHERE {column} = ? LIMIT 1"
            done = database.execute(f"UPDATE {table} SET {column} = ? WHERE rowid IN ({chosen})", (new, old))
            return done.rowcount == 1

    return change


def change_line(pattern: str, old: str, new: str) -> Callable[[Box], bool]:
    """Changes the first line that has a text, in the files that a pattern names."""

    def change(box: Box) -> bool:
        for path in sorted(box.home.glob(pattern)):
            text = path.read_text()
            if old in text:
                path.write_text(text.replace(old, new, 1))
                return True
        return False

    return change


GUARDS = [
    Guard(
        "portcullis", "Portcullis", "this repository", "portcullis", "0.1.0", "Apache-2.0",
        program="bin/portcullis", set_up=set_up_portcullis, state=".local/state/portcullis",
        checks=(("@portcullis", "audit", "verify"),),
        tamper=change_row(".local/state/portcullis/journal.db", "journal", "verdict", "block", "allow"),
        restore=("@portcullis", "undo", "--yes"),
    ),
    Guard(
        "hol-guard", "HOL Guard", "PyPI", "hol-guard", "3.57.0", "Apache-2.0",
        program="lib/python3*/site-packages/codex_plugin_scanner/_native/hol-guard-runtime", set_up=set_up_hol_guard,
        state=".hol-guard",
        checks=(("@hol-guard", "status"), ("@hol-guard", "receipts"), ("@hol-guard", "policies", "verify"),
                ("@hol-guard", "doctor", "claude-code")),
        tamper=change_row(".hol-guard/guard.db", "native_hook_decision_receipts", "decision", "deny", "allow"),
    ),
    Guard(
        "cc-safety-net", "CC Safety Net", "npm", "cc-safety-net", "2.4.5", "MIT",
        program="node_modules/cc-safety-net/dist/bin/cc-safety-net.js", set_up=set_up_safety_net, state=".cc-safety-net",
        checks=(("@cc-safety-net", "status"), ("@cc-safety-net", "logs", "--all"), ("@cc-safety-net", "doctor")),
        tamper=change_line(".cc-safety-net/logs/**/*.jsonl", '"decision":"deny"', '"decision":"allow"'),
        programs="node_modules/.bin",
    ),
    Guard(
        "hashimori", "Hashimori", "PyPI", "hashimori", "0.3.0", "MIT",
        program="bin/hashimori", set_up=set_up_hashimori, state="shop/.hashimori",
        checks=(("@hashimori", "ledger"), ("@hashimori", "report", ".hashimori/audit.jsonl", "--out", "../report.html"),
                ("@hashimori", "fleet", ".hashimori/audit.jsonl")),
        tamper=change_line("shop/.hashimori/audit.jsonl", '"deny"', '"allow"'),
        restore=("@hashimori", "restore", "--latest"),
    ),
]
