"""Compiles the programs for a target, with one cross compiler for all of them."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from parts.tools import install_packages

PROGRAMS = ["portcullis", "portcullis-hook", "portcullis-plugin", "portcullis-hub"]
"""All programs of a version. They work with each other only if they are of one build."""


@dataclass(frozen=True)
class Target:
    triple: str
    """Rust's name."""
    debian: str
    """The architecture's name for Debian."""
    rpm: str
    """The architecture's name for RPM."""
    npm: str
    """The architecture's name for npm."""
    wheel: str
    """The platform's tags for Python."""


TARGETS = [
    Target("x86_64-unknown-linux-musl", "amd64", "x86_64", "x64", "manylinux_2_17_x86_64.musllinux_1_1_x86_64"),
    Target("aarch64-unknown-linux-musl", "arm64", "aarch64", "arm64", "manylinux_2_17_aarch64.musllinux_1_1_aarch64"),
]
"""Each is linked statically, so that it runs on every Linux with that processor."""


def find_targets(triples: list[str] | None) -> list[Target]:
    known = {target.triple: target for target in TARGETS}
    unknown = [triple for triple in triples or [] if triple not in known]
    if unknown:
        sys.exit(f"release/build: there is no target {', '.join(unknown)}; there are {', '.join(known)}")
    return [known[triple] for triple in triples or known]


def compile_programs(root: Path, target: Target) -> dict[str, Path]:
    """Returns the paths of the programs by name."""
    tools = install_cross_compiler(root)
    subprocess.run(["rustup", "target", "add", target.triple, "wasm32-unknown-unknown"], cwd=root, check=True)
    folder = Path(os.environ.get("CARGO_TARGET_DIR", root / "target"))
    cargo_home = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
    # Messages of panics and of asserts name source files, which must not tell where those were. Build scripts write some of them into
    # the target folder, which may be below the root: of the prefixes that match, the last one counts.
    prefixes = {root: "/portcullis", cargo_home: "/cargo", folder.resolve(): "/portcullis/target"}
    remapped = [f"--remap-path-prefix={path}={name}" for path, name in prefixes.items()]
    environment = os.environ | {
        "PATH": f"{tools / 'bin'}:{os.environ['PATH']}",
        "CARGO_INCREMENTAL": "0",
        "CARGO_ENCODED_RUSTFLAGS": "\x1f".join(remapped),
    }
    packages = [word for name in PROGRAMS for word in ("--bin", name)]
    command = ["cargo", "zigbuild", "--locked", "--profile", "dist", "--target", target.triple, *packages]
    subprocess.run(command, cwd=root, env=environment, check=True)
    return {name: folder / target.triple / "dist" / name for name in PROGRAMS}


def install_cross_compiler(root: Path) -> Path:
    """Installs the cross compiler once; returns its folder."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", root / "target")).resolve()
    return install_packages(root / "release/tools.txt", target / "release-tools")
