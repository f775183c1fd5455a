"""The archive for people and for `cargo binstall`: programs, manual pages, completions."""

import gzip
import io
import tarfile
from pathlib import Path

from parts.compile import Target
from parts.materials import Materials
from parts.version import Version


def write_archive(
    version: Version, target: Target, programs: dict[str, Path], materials: Materials, output: Path
) -> list[Path]:
    name = f"portcullis-{version.text}-{target.triple}"
    files = {f"bin/{program}": (path, 0o755) for program, path in programs.items()}
    files |= {f"share/man/man1/{path.name}": (path, 0o644) for path in materials.manuals.iterdir()}
    files |= {f"share/completions/{path.name}": (path, 0o644) for path in materials.completions.values()}
    files |= {path.name: (path, 0o644) for path in materials.texts}
    path = output / f"{name}.tar.gz"
    path.write_bytes(pack_files(version, {f"{name}/{place}": file for place, file in files.items()}))
    return [path]


def pack_files(version: Version, files: dict[str, tuple[Path, int]]) -> bytes:
    """Returns a tar.gz of files, in the order of their names, whose bytes depend on them alone."""
    packed = io.BytesIO()
    # The header of gzip has a time, too.
    with gzip.GzipFile(fileobj=packed, mode="wb", mtime=version.time) as zipped:
        with tarfile.open(fileobj=zipped, mode="w", format=tarfile.PAX_FORMAT) as tar:
            for place, (path, mode) in sorted(files.items()):
                entry = tarfile.TarInfo(place)
                entry.size, entry.mode, entry.mtime = path.stat().st_size, mode, version.time
                with path.open("rb") as file:
                    tar.addfile(entry, file)
    return packed.getvalue()
