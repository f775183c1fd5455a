"""The package for Python's installers: `uvx portcullis demo`, `pip install portcullis`. It has no Python code."""

import base64
import hashlib
import time
import zipfile
from pathlib import Path

from parts.compile import Target
from parts.materials import Materials
from parts.version import Version

METADATA = """Metadata-Version: 2.3
Name: portcullis
Version: {version}
Summary: Reviews every action of an AI coding agent with sandboxed WebAssembly plugins
License-Expression: Apache-2.0
Requires-Python: >=3.8
Description-Content-Type: text/markdown

{readme}"""
WHEEL = "Wheel-Version: 1.0\nGenerator: portcullis-release\nRoot-Is-Purelib: false\n"
WRAPPED = ["portcullis", "portcullis-hook", "portcullis-plugin"]
"""The programs that a developer's machine needs."""


def write_wheel(
    version: Version, target: Target, programs: dict[str, Path], materials: Materials, output: Path
) -> list[Path]:
    name = f"portcullis-{version.text}"
    (readme,) = (path for path in materials.texts if path.name == "README.md")
    (licence,) = (path for path in materials.texts if path.name == "LICENSE")
    python, abi = "py3", "none"
    tags = "".join(f"Tag: {python}-{abi}-{platform}\n" for platform in target.wheel.split("."))
    files = {f"{name}.data/scripts/{program}": (programs[program].read_bytes(), 0o755) for program in WRAPPED}
    metadata = METADATA.format(version=version.text, readme=readme.read_text())
    files[f"{name}.dist-info/METADATA"] = (metadata.encode(), 0o644)
    files[f"{name}.dist-info/WHEEL"] = ((WHEEL + tags).encode(), 0o644)
    files[f"{name}.dist-info/licenses/LICENSE"] = (licence.read_bytes(), 0o644)
    record = "".join(f"{place},sha256={digest_of(data)},{len(data)}\n" for place, (data, _) in files.items())
    files[f"{name}.dist-info/RECORD"] = (f"{record}{name}.dist-info/RECORD,,\n".encode(), 0o644)
    path = output / f"{name}-{python}-{abi}-{target.wheel}.whl"
    moment = time.gmtime(version.time)[:6]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        for place, (data, mode) in files.items():
            entry = zipfile.ZipInfo(place, moment)
            entry.external_attr = (0o100000 | mode) << 16
            entry.create_system = 3
            wheel.writestr(entry, data, zipfile.ZIP_DEFLATED)
    return [path]


def run_by_uvx(wheel: str) -> list[str]:
    """Returns the command that starts `portcullis` from the file without installing it, and without a registry."""
    return ["uvx", "--offline", "--quiet", "--from", wheel, "portcullis"]


def digest_of(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
