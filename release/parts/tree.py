"""The files of a system package, as they are on the machine."""

import gzip
import os
import shutil
from pathlib import Path

from parts.materials import Materials
from parts.version import Version

COMPLETIONS = {
    "bash": "usr/share/bash-completion/completions",
    "fish": "usr/share/fish/vendor_completions.d",
}


def fill_tree(root: Path, version: Version, programs: dict[str, Path], materials: Materials, zsh: str) -> None:
    """Copies everything below `root`, with the times of the commit. `zsh` is the folder that the system's zsh searches."""
    folders_of_shells = COMPLETIONS | {"zsh": zsh}
    for name, path in programs.items():
        place_file(path, root / "usr/bin" / name, 0o755)
    for path in sorted(materials.manuals.iterdir()):
        place = root / "usr/share/man/man1" / f"{path.name}.gz"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(gzip.compress(path.read_bytes(), mtime=0))
        place.chmod(0o644)
    for shell, path in materials.completions.items():
        place_file(path, root / folders_of_shells[shell] / path.name, 0o644)
    for path in materials.texts:
        place_file(path, root / "usr/share/doc/portcullis" / path.name, 0o644)
    for folder, folders, files in os.walk(root, topdown=False):
        for name in folders + files:
            os.utime(Path(folder) / name, (version.time, version.time))
        Path(folder).chmod(0o755)


def place_file(path: Path, place: Path, mode: int) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(path, place)
    place.chmod(mode)
