"""What a test is."""

from dataclasses import dataclass

_NEVER = frozenset(
    "node_modules target build dist vendor venv .venv .tox .git .pytest_cache __pycache__ __snapshots__ fixtures testdata".split()
)
_ENDINGS = frozenset(
    "py rs js jsx mjs cjs ts tsx go java kt rb php c cc cpp h cs swift scala ex exs sh lua dart".split()
)
_STEM_ENDS = ("_test", "_tests", "_spec", ".test", ".spec", "Test", "Tests")


@dataclass
class Project:
    """Where tests lie."""

    roots: list[str]
    folders: list[str]

    def place(self, path: str) -> str | None:
        """Where a path is in the project; none outside of it."""
        places = (path.removeprefix(f"{root}/") for root in self.roots if path.startswith(f"{root}/"))
        return next(places, None) or None

    def test(self, path: str) -> str | None:
        """The place of a path that is a test."""
        place = self.place(path)
        return place if place and self._is_test(place) else None

    def _is_test(self, place: str) -> bool:
        *parents, name = place.split("/")
        if is_never_one(place):
            return False
        is_source = name.rpartition(".")[2] in _ENDINGS and "." in name
        return is_named_as_test(name) or name in self.folders or (is_source and any(parent in self.folders for parent in parents))


def is_never_one(path: str) -> bool:
    """One of its parts holds no tests, whatever is there."""
    return not _NEVER.isdisjoint(path.split("/"))


def is_named_as_test(name: str) -> bool:
    """The name is that of a test."""
    stem, dot, _ = name.rpartition(".")
    if not dot:
        return False
    capital = "A" <= stem.removeprefix("Test")[:1] <= "Z"
    return stem.startswith("test_") or stem.endswith(_STEM_ENDS) or (stem.startswith("Test") and capital)


def name(path: str) -> str:
    """The last part of a path."""
    return path.rpartition("/")[2]
