"""Runs commands in a terminal, and writes what a person would have seen as an asciicast of version 2.

The bytes come from the programs; the times do not, so that each recording has the same.
"""

import errno
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from dataclasses import dataclass, field
from pathlib import Path

PROMPT = "$ "
PATIENCE = 120.0
"""The most seconds that a command may take."""
KEY, WORD, RETURN, LINE = 0.05, 0.06, 0.5, 0.12
"""Seconds for a key, more of them after a word, before the return key, and for a line of output."""


@dataclass(frozen=True)
class Shown:
    """A command of the recording."""

    command: str
    pause: float
    """The seconds for reading what it printed."""
    exit_code: int = 0
    line: float = LINE
    """The seconds for a line of its output."""


@dataclass
class Cast:
    width: int
    height: int
    title: str
    events: list[tuple[float, str]] = field(default_factory=list)
    """The output with its time, in seconds from the beginning."""

    @property
    def seconds(self) -> float:
        return self.events[-1][0]

    def write(self) -> str:
        header = {"version": 2, "width": self.width, "height": self.height, "title": self.title, "env": {"TERM": "xterm-256color"}}
        lines = [header, *([at, "o", text] for at, text in self.events)]
        return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


def read_cast(text: str) -> Cast:
    header, *events = map(json.loads, text.splitlines())
    return Cast(header["width"], header["height"], header["title"], [(at, text) for at, _, text in events])


def record_commands(cast: Cast, commands: list[Shown], folder: Path, environment: dict[str, str], home: str) -> None:
    """Runs the commands one after another in `folder`. In what they print, its path is `home`, which has as many letters."""
    now = 0.5
    cast.events.append((now, PROMPT))
    for shown in commands:
        now += 0.8
        for before, key in zip(" " + shown.command, shown.command):
            now += KEY + (WORD if before == " " else 0)
            cast.events.append((round(now, 2), key))
        now += RETURN
        cast.events.append((round(now, 2), "\r\n"))
        printed = run_in_terminal(shown, folder, environment, cast.width, cast.height)
        for line in re.findall(r"[^\n]*\n|[^\n]+$", leave_out_erased(printed.replace(str(folder), home))):
            now += shown.line
            cast.events.append((round(now, 2), line))
        now += 0.1
        cast.events.append((round(now, 2), PROMPT))
        now += shown.pause
    # A player shows the last screen until this time.
    cast.events.append((round(now, 2), ""))


def run_in_terminal(shown: Shown, folder: Path, environment: dict[str, str], width: int, height: int) -> str:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
    command = subprocess.Popen(
        ["/bin/sh", "-c", shown.command], cwd=folder, env=environment, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    )
    os.close(theirs)
    printed, until = b"", time.monotonic() + PATIENCE
    while True:
        readable, _, _ = select.select([ours], [], [], 0.1)
        try:
            part = os.read(ours, 65536) if readable else b""
        except OSError as error:
            # How a terminal says that nobody has it open any more.
            if error.errno != errno.EIO:
                raise
            break
        printed += part
        if not part and command.poll() is not None:
            break
        if time.monotonic() > until:
            os.killpg(command.pid, signal.SIGKILL)
            sys.exit(f"release/record: `{shown.command}` did not end within {PATIENCE:.0f} s")
    os.close(ours)
    text = printed.decode()
    if command.wait() != shown.exit_code:
        sys.exit(f"release/record: `{shown.command}` ended with {command.returncode}, not {shown.exit_code}:\n{text}")
    return text


def leave_out_erased(printed: str) -> str:
    """Leaves out what a command wrote into a line and covered with blanks again: how far it had come, at the pace of one machine."""
    return re.sub(r"[^\n]*\r +\r", "", printed)
