"""What manifests tell `cargo binstall`: the address of the archive, and the place of each program in it."""

import json
import re
import subprocess
import sys
import tarfile
from pathlib import Path

from parts.compile import PROGRAMS, Target
from parts.homebrew import ADDRESS
from parts.version import Version


def check_binstall(root: Path, version: Version, target: Target, archive: Path) -> None:
    """Ends this program unless the manifests together lead to every program of the archive, at the address of the formula."""
    command = ["cargo", "metadata", "--locked", "--no-deps", "--format-version", "1"]
    said = json.loads(subprocess.run(command, cwd=root, check=True, capture_output=True).stdout)
    with tarfile.open(archive) as packed:
        executable = {entry.name for entry in packed if entry.mode & 0o111}
    found = set()
    for package in said["packages"]:
        told = (package["metadata"] or {}).get("binstall")
        if told is None:
            continue
        values = {"name": package["name"], "version": version.text, "target": target.triple, "binary-ext": ""}
        address = expand(told["pkg-url"], values)
        if (address, told["pkg-fmt"]) != (f"{ADDRESS}/{archive.name}", "tgz"):
            sys.exit(f"release: {package['name']}: binstall would take {address} for {told['pkg-fmt']}, not {ADDRESS}/{archive.name} for tgz")
        for made in package["targets"]:
            if "bin" in made["kind"]:
                place = expand(told["bin-dir"], values | {"bin": made["name"]})
                if place not in executable:
                    sys.exit(f"release: {package['name']}: {archive.name} has no program {place}")
                found.add(made["name"])
    if found != set(PROGRAMS):
        sys.exit(f"release: binstall finds {', '.join(sorted(found))}, not {', '.join(PROGRAMS)}")


def expand(template: str, values: dict[str, str]) -> str:
    """Puts the values in. A name that binstall does not know ends this program."""
    return re.sub(r"\{ *([\w-]+) *\}", lambda name: values[name[1]], template)
