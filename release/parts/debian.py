"""The package for Debian, Ubuntu and their relatives."""

import subprocess
import tempfile
from pathlib import Path

from parts.compile import Target
from parts.materials import Materials
from parts.tree import fill_tree
from parts.version import Version

CONTROL = """Package: portcullis
Version: {version}
Architecture: {architecture}
Maintainer: The Portcullis authors <portcullis@localhost>
Installed-Size: {size}
Section: devel
Priority: optional
Description: reviews every action of an AI coding agent
 Portcullis reviews each action before it runs, with checks that are
 sandboxed WebAssembly plugins, and keeps a hash-chained journal of them.
"""


def write_debian_package(
    version: Version, target: Target, programs: dict[str, Path], materials: Materials, output: Path
) -> list[Path]:
    path = output / f"portcullis_{version.text}_{target.debian}.deb"
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        fill_tree(root, version, programs, materials, zsh="usr/share/zsh/vendor-completions")
        size = sum(file.stat().st_size for file in root.rglob("*") if file.is_file()) // 1024
        control = root / "DEBIAN/control"
        control.parent.mkdir()
        control.parent.chmod(0o755)
        control.write_text(CONTROL.format(version=version.text, architecture=target.debian, size=size))
        control.chmod(0o644)
        # dpkg-deb takes the time of the archive from SOURCE_DATE_EPOCH.
        command = ["dpkg-deb", "--root-owner-group", "-Zxz", "--build", root, path]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return [path]
