"""Texts: what of the agent's world may stand in a sentence, and templates with `{placeholders}`.

The host shows each text of a plugin as a quotation of one line, so a text here is one line of bounded length.
"""

import re
from typing import Iterable

# The host shows this much of a sentence, and this much of a value is enough to know it by.
SENTENCE = 400
VALUE = 160
# How many values a list in a sentence names.
LISTED = 4

_PLACEHOLDER = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")


class BadTemplate(Exception):
    """A template that cannot be filled, with the reason."""


def line(text: str, most: int = SENTENCE) -> str:
    """One line of at most `most` bytes, without characters that nobody sees."""
    plain = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    data = plain.encode()
    if len(data) <= most:
        return plain
    # An ellipsis takes three bytes.
    return data[: most - 3].decode(errors="ignore").rstrip() + "…"


def listed(values: Iterable[str], most: int = LISTED) -> str:
    """Values in a line, each once; how many more there are."""
    lines = [one for one in dict.fromkeys(line(value, VALUE) for value in values) if one]
    more = f" and {len(lines) - most} more" if len(lines) > most else ""
    return ", ".join(lines[:most]) + more


def fill(template: str, values: dict[str, str]) -> list[str]:
    """A template's lines. One that names a value which is empty is left out."""
    filled = []
    for number, text in enumerate(template.splitlines(), 1):
        try:
            said = _fill_line(text, values)
        except BadTemplate as error:
            raise BadTemplate(f"line {number}: {error}") from None
        if said.strip():
            filled.append(line(said))
    return filled


def _fill_line(text: str, values: dict[str, str]) -> str:
    is_complete = True

    def value(match: re.Match[str]) -> str:
        nonlocal is_complete
        if match[0] in ("{{", "}}"):
            return match[0][0]
        name = match[1]
        if name is None:
            raise BadTemplate(f"a `{match[0]}` by itself; write `{match[0] * 2}` for the brace")
        if name not in values and not name.startswith("evidence."):
            raise BadTemplate(f"unknown placeholder `{{{line(name, 64)}}}`; known are {', '.join(values)}")
        found = values.get(name, "")
        is_complete &= bool(found)
        return found

    filled = _PLACEHOLDER.sub(value, text)
    return filled if is_complete else ""
