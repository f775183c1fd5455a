"""The packages for npm: `npx portcullis demo`. One has a launcher, and names one for each processor, of which npm installs
the one that fits."""

import json
import shutil
import subprocess
import tempfile
from pathlib import Path

from parts.compile import TARGETS, Target
from parts.version import Version
from parts.wheel import WRAPPED

LAUNCHER = """#!/usr/bin/env node
// Starts the program of the package for this processor, and ends as it does.
"use strict";
const { spawnSync } = require("node:child_process");
const { basename } = require("node:path");

const name = basename(process.argv[1]).replace(/\\.js$/, "");
const platform = `portcullis-${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`${platform}/bin/${name}`);
} catch {
  console.error(
    `portcullis: there is no package for ${process.platform} on ${process.arch}, or npm left out optional ` +
      "dependencies: install again without --omit=optional",
  );
  process.exit(1);
}
const ended = spawnSync(program, process.argv.slice(2), { stdio: "inherit" });
if (ended.error) {
  console.error(`portcullis: ${program} cannot be started: ${ended.error.message}`);
  process.exit(1);
}
if (ended.signal) process.kill(process.pid, ended.signal);
process.exit(ended.status);
"""
QUIET = ["--offline", "--omit=optional", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"]
"""Options for packages that are files: the launcher's optional packages are in no registry then."""
COMMON = {"license": "Apache-2.0", "description": "Reviews every action of an AI coding agent with sandboxed WebAssembly plugins"}


def run_by_npx(packages: list[str]) -> list[str]:
    """Returns the command that starts `portcullis` from files without installing them, and without a registry."""
    return ["npx", "--yes", *QUIET, *(f"--package={path}" for path in packages), "--", "portcullis"]


def write_npm_packages(version: Version, target: Target, programs: dict[str, Path], output: Path) -> None:
    """Writes the package for a processor, and the one with the launcher, which is the same for all."""
    own = {name: programs[name] for name in WRAPPED}
    platform = {"name": package_of(target), "version": version.text, "os": ["linux"], "cpu": [target.npm], **COMMON}
    pack(platform | {"files": ["bin"]}, {f"bin/{name}": path.read_bytes() for name, path in own.items()}, output)
    launcher = {
        "name": "portcullis",
        "version": version.text,
        **COMMON,
        "bin": {name: f"bin/{name}.js" for name in WRAPPED},
        "files": ["bin"],
        "engines": {"node": ">=18"},
        "optionalDependencies": {package_of(known): version.text for known in TARGETS},
    }
    pack(launcher, {f"bin/{name}.js": LAUNCHER.encode() for name in WRAPPED}, output)


def package_of(target: Target) -> str:
    return f"portcullis-linux-{target.npm}"


def pack(manifest: dict, files: dict[str, bytes], output: Path) -> None:
    """Lets npm pack files. It gives all of them one time."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        described = root / "package.json"
        described.write_text(json.dumps(manifest, indent=2) + "\n")
        described.chmod(0o644)
        for place, data in files.items():
            path = root / place
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            path.chmod(0o755)
        command = ["npm", "pack", "--silent", "--ignore-scripts", "--pack-destination", folder]
        subprocess.run(command, cwd=root, check=True, stdout=subprocess.DEVNULL)
        (packed,) = root.glob("*.tgz")
        shutil.copyfile(packed, output / f"npm-{packed.name}")
