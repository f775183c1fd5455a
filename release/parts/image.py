"""The description of the container image, as far as it can be tried without an engine for containers."""

import json
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Image:
    copies: list[tuple[str, str]]
    """What is copied from the context, and the folder that it comes into."""
    variables: dict[str, str]
    folder: str
    entrypoint: list[str]


def read_image(path: Path) -> Image:
    """Reads a description that begins with an empty image and has one command a line. Any other line ends this program."""
    copies, variables, folder, entrypoint = [], {}, "/", []
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    for line in lines:
        word, _, rest = line.partition(" ")
        match word:
            case "COPY":
                *sources, place = rest.split()
                copies += [(source, place) for source in sources]
            case "ENV":
                variables |= dict(pair.split("=", 1) for pair in rest.split())
            case "WORKDIR":
                folder = rest
            case "ENTRYPOINT":
                entrypoint = json.loads(rest)
            case "CMD":
                json.loads(rest)
            case _ if line == lines[0] == "FROM scratch":
                pass
            case _:
                sys.exit(f"release: {path.name}: no test knows the line `{line}`")
    return Image(copies, variables, folder, entrypoint)


def fill_image(image: Image, context: Path, root: Path) -> None:
    """Makes the image's files in a folder."""
    for source, place in image.copies:
        target = root / place.strip("/")
        target.mkdir(parents=True, exist_ok=True)
        if not (context / source).is_file():
            sys.exit(f"release: the image copies {source}, which is not in {context.name}")
        shutil.copy(context / source, target)
    (root / image.folder.strip("/")).mkdir(parents=True, exist_ok=True)
    if not (root / image.entrypoint[0].strip("/")).is_file():
        sys.exit(f"release: the image has no {image.entrypoint[0]}")
