"""The version that is built, as the repository states it."""

import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Version:
    text: str
    """As in Cargo.toml: 0.1.0."""
    commit: str
    """The commit's id."""
    time: int
    """The time of the commit, in seconds since 1970."""
    is_changed: bool
    """True if files differ from the commit."""


def read_version(root: Path) -> Version:
    manifest = tomllib.loads((root / "Cargo.toml").read_text())
    return Version(
        text=manifest["workspace"]["package"]["version"],
        commit=ask_git(root, "rev-parse", "HEAD"),
        time=int(ask_git(root, "log", "-1", "--format=%ct")),
        is_changed=bool(ask_git(root, "status", "--porcelain", "--untracked-files=no")),
    )


def ask_git(root: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True, text=True).stdout.strip()
