"""What goes beside the programs: manual pages, completions, licence and changes."""

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from parts.compile import Target

SHELLS = {"bash": "portcullis", "zsh": "_portcullis", "fish": "portcullis.fish"}
"""The shells with completions, and the name of each one's file."""


@dataclass(frozen=True)
class Materials:
    manuals: Path
    """A folder with the manual pages of section 1."""
    completions: dict[str, Path]
    """The completions by shell."""
    texts: list[Path]
    """Licence, README and changes."""


@contextmanager
def write_materials(root: Path, programs: dict[str, Path], target: Target) -> Iterator[Materials]:
    """Lets the program write them, in a folder that is removed afterwards."""
    run = [*emulator_of(target), programs["portcullis"]]
    with tempfile.TemporaryDirectory() as folder:
        manuals = Path(folder) / "man1"
        manuals.mkdir()
        subprocess.run([*run, "man", "--output", manuals], check=True, stdout=subprocess.DEVNULL)
        completions = {}
        for shell, name in SHELLS.items():
            path = completions[shell] = Path(folder) / shell / name
            path.parent.mkdir()
            with path.open("wb") as file:
                subprocess.run([*run, "completions", shell], check=True, stdout=file)
        texts = [root / name for name in ("LICENSE", "README.md", "CHANGELOG.md")]
        yield Materials(manuals, completions, texts)


def emulator_of(target: Target) -> list[str]:
    """Returns what runs a program of another processor; nothing for this machine's own."""
    machine = subprocess.run(["uname", "-m"], check=True, capture_output=True, text=True).stdout.strip()
    processor = target.triple.split("-")[0]
    return [] if machine == processor else [f"qemu-{processor}-static"]
