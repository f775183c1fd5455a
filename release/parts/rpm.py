"""The package for Fedora, openSUSE and their relatives."""

import shutil
import subprocess
import tempfile
from pathlib import Path

from parts.compile import Target
from parts.materials import Materials
from parts.tree import fill_tree
from parts.version import Version

SYSTEM = ("usr", "usr/bin", "usr/share", "usr/share/doc", "usr/share/man", "usr/share/man/man1")
"""Folders that every system has. The package owns the others, some with other packages: rpm removes one with its last owner."""
SPEC = """Name: portcullis
Version: {version}
Release: 1
Summary: Reviews every action of an AI coding agent
License: Apache-2.0
AutoReqProv: no
%global __os_install_post %{{nil}}
%global debug_package %{{nil}}
%global use_source_date_epoch_as_buildtime 1
%global clamp_mtime_to_source_date_epoch 1
%global _buildhost localhost
%global _binary_payload w19.zstdio

%description
Portcullis reviews each action before it runs, with checks that are
sandboxed WebAssembly plugins, and keeps a hash-chained journal of them.

%install
cp -a {tree}/. %{{buildroot}}

%files
%defattr(-,root,root,-)
{files}
"""


def write_rpm_package(
    version: Version, target: Target, programs: dict[str, Path], materials: Materials, output: Path
) -> list[Path]:
    with tempfile.TemporaryDirectory() as folder:
        tree, top = Path(folder) / "tree", Path(folder) / "top"
        fill_tree(tree, version, programs, materials, zsh="usr/share/zsh/site-functions")
        paths = {path.relative_to(tree): path.is_dir() for path in tree.rglob("*")}
        files = sorted(f"{'%dir ' if is_folder else ''}/{path}" for path, is_folder in paths.items() if str(path) not in SYSTEM)
        spec = Path(folder) / "portcullis.spec"
        spec.write_text(SPEC.format(version=version.text, tree=tree, files="\n".join(files)))
        command = ["rpmbuild", "-bb", "--quiet", "--target", f"{target.rpm}-linux", "--define", f"_topdir {top}", spec]
        subprocess.run(command, check=True, capture_output=True)
        (built,) = top.rglob("*.rpm")
        path = output / f"portcullis-{version.text}-1.{target.rpm}.rpm"
        shutil.copyfile(built, path)
    return [path]
