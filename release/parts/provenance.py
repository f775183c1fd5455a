"""The digests of all files, and the statement of where they come from, which `portcullis release sign` signs."""

import hashlib
import json
import subprocess
from pathlib import Path

from parts.version import Version


def write_checksums(output: Path) -> None:
    lines = [f"{digest}  {name}\n" for name, digest in list_digests(output)]
    (output / "SHA256SUMS").write_text("".join(lines))


def write_provenance(root: Path, version: Version, output: Path) -> None:
    """Writes an in-toto statement with SLSA's provenance 1.0. It names no machine: anybody can build the same."""
    toolchain = subprocess.run(["rustc", "--version"], cwd=root, check=True, capture_output=True, text=True).stdout.strip()
    statement = {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": name, "digest": {"sha256": digest}} for name, digest in list_digests(output)],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": "https://portcullis.invalid/release-build/v1",
                "externalParameters": {"command": "release/build", "version": version.text},
                "resolvedDependencies": [
                    {"name": "source", "digest": {"gitCommit": version.commit}},
                    {"name": "toolchain", "annotations": {"rustc": toolchain}},
                    {"name": "tools", "annotations": {"tools": read_tools(root)}},
                ],
            },
            "runDetails": {"builder": {"id": "https://portcullis.invalid/release-build/v1"}},
        },
    }
    path = output / f"portcullis-{version.text}.provenance.json"
    path.write_text(json.dumps(statement, indent=1, sort_keys=True) + "\n")


def write_pointer(version: Version, output: Path) -> None:
    """Names the newest signed statement, for `portcullis upgrade --check`, which believes the statement alone."""
    text = json.dumps({"statement": f"portcullis-{version.text}.sigstore.json"})
    (output / "latest.json").write_text(text + "\n")


def list_digests(output: Path) -> list[tuple[str, str]]:
    files = sorted(path for path in output.iterdir() if not path.name.endswith(".provenance.json"))
    return [(path.name, hashlib.sha256(path.read_bytes()).hexdigest()) for path in files]


def read_tools(root: Path) -> list[str]:
    lines = (root / "release/tools.txt").read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]
