"""The list of what a version is made of, in CycloneDX 1.5."""

import json
import re
import subprocess
import sys
import tomllib
import uuid
from datetime import datetime, timezone
from pathlib import Path

from parts.compile import TARGETS
from parts.version import Version

PACKAGES = {"portcullis", "portcullis-hook", "portcullis-toolchain", "portcullis-hub"}
"""The packages of the programs."""
GUEST = "wasm32-unknown-unknown"
"""The target of the plugins that the programs carry, which a build script compiles."""


def write_sbom(root: Path, version: Version, output: Path) -> None:
    """Lists the crates of the programs on any target, and of the plugins in them, from the lock file."""
    crates, parts = {}, {}
    guests = read_guests(root)
    for part, triple, roots in [*(("programs", target.triple, PACKAGES) for target in TARGETS), ("plugins", GUEST, guests)]:
        command = ["cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", triple]
        said = json.loads(subprocess.run(command, cwd=root, check=True, capture_output=True).stdout)
        used = reach_dependencies(said, roots)
        crates |= {package["id"]: package for package in said["packages"] if package["id"] in used}
        for package in used:
            parts.setdefault(package, set()).add(part)
    locked = tomllib.loads((root / "Cargo.lock").read_text())["package"]
    digests = {(crate["name"], crate["version"]): crate["checksum"] for crate in locked if "checksum" in crate}
    described = (describe_crate(crate, sorted(parts[crate["id"]]), digests) for crate in crates.values())
    components = sorted(described, key=lambda crate: crate["bom-ref"])
    moment = datetime.fromtimestamp(version.time, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, f'portcullis:{version.commit}')}",
        "version": 1,
        "metadata": {
            "timestamp": moment,
            "component": {"type": "application", "name": "portcullis", "version": version.text, "bom-ref": "portcullis"},
        },
        "components": components,
    }
    (output / f"portcullis-{version.text}.cdx.json").write_text(json.dumps(document, indent=1) + "\n")


def read_guests(root: Path) -> set[str]:
    """Returns the packages of the builtin plugins, from the list by which they are built."""
    place = "plugins/builtin/build/guests.rs"
    text = (root / place).read_text()
    (listed,) = re.findall(r"GUESTS: &\[Guest\] = &\[(.*?)\n\];", text, re.DOTALL)
    guests = re.findall(r'guest\(\s*"[^"]+",\s*"([^"]+)"', listed)
    if not guests or len(guests) != listed.count("guest("):
        sys.exit(f"release: the list in {place} has another form than this reads")
    return set(guests)


def reach_dependencies(said: dict, roots: set[str]) -> set[str]:
    """Returns the ids of the packages that these of ours link, without those for building and testing."""
    nodes = {node["id"]: node for node in said["resolve"]["nodes"]}
    open_ids = [package["id"] for package in said["packages"] if package["name"] in roots and package["source"] is None]
    if len(open_ids) != len(roots):
        sys.exit(f"release: not all of {', '.join(sorted(roots))} are packages of the workspace")
    reached = set()
    while open_ids:
        one = open_ids.pop()
        if one not in reached:
            reached.add(one)
            for dependency in nodes[one]["deps"]:
                if any(kind["kind"] is None for kind in dependency["dep_kinds"]):
                    open_ids.append(dependency["pkg"])
    return reached


def describe_crate(crate: dict, parts: list[str], digests: dict[tuple[str, str], str]) -> dict:
    described = {
        "type": "library",
        "bom-ref": f"{crate['name']}@{crate['version']}",
        "name": crate["name"],
        "version": crate["version"],
        "purl": f"pkg:cargo/{crate['name']}@{crate['version']}",
    }
    # A crate of this repository has the digest of none but the commit.
    if digest := digests.get((crate["name"], crate["version"])):
        described["hashes"] = [{"alg": "SHA-256", "content": digest}]
    if crate["license"]:
        described["licenses"] = [{"expression": crate["license"].replace("/", " OR ")}]
    described["properties"] = [{"name": "portcullis:part", "value": part} for part in parts]
    return described
