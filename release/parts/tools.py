"""Installs packages of Python that a step of the release needs, in the versions that the repository names."""

import subprocess
import venv
from pathlib import Path


def install_packages(wanted: Path, folder: Path) -> Path:
    """Installs what that list of requirements names, once for each of its versions; returns the environment's folder."""
    stamp = folder / wanted.name
    if not stamp.exists() or stamp.read_text() != wanted.read_text():
        venv.create(folder, with_pip=True, clear=True)
        pip = [folder / "bin/pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "-r", wanted], check=True)
        stamp.write_text(wanted.read_text())
    return folder
