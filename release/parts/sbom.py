"""The list of what a version is made of, in CycloneDX 1.5."""

import json
import subprocess
import uuid
from datetime import datetime, timezone
from pathlib import Path

from parts.compile import TARGETS
from parts.version import Version


def write_sbom(root: Path, version: Version, output: Path) -> None:
    """Lists the crates that the programs are linked with on any target, from the lock file."""
    crates = {}
    for target in TARGETS:
        command = ["cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", target.triple]
        said = json.loads(subprocess.run(command, cwd=root, check=True, capture_output=True).stdout)
        used = reach_dependencies(said)
        crates |= {package["id"]: package for package in said["packages"] if package["id"] in used}
    components = sorted((describe_crate(crate) for crate in crates.values()), key=lambda crate: crate["bom-ref"])
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


def reach_dependencies(said: dict) -> set[str]:
    """Returns the ids of the packages that the four programs link, without those for building and testing."""
    nodes = {node["id"]: node for node in said["resolve"]["nodes"]}
    names = {"portcullis", "portcullis-hook", "portcullis-toolchain", "portcullis-hub"}
    open_ids = [package["id"] for package in said["packages"] if package["name"] in names and package["source"] is None]
    reached = set()
    while open_ids:
        one = open_ids.pop()
        if one not in reached:
            reached.add(one)
            for dependency in nodes[one]["deps"]:
                if any(kind["kind"] is None for kind in dependency["dep_kinds"]):
                    open_ids.append(dependency["pkg"])
    return reached


def describe_crate(crate: dict) -> dict:
    described = {
        "type": "library",
        "bom-ref": f"{crate['name']}@{crate['version']}",
        "name": crate["name"],
        "version": crate["version"],
        "purl": f"pkg:cargo/{crate['name']}@{crate['version']}",
    }
    if crate["license"]:
        described["licenses"] = [{"expression": crate["license"].replace("/", " OR ")}]
    return described
