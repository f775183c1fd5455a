"""Texts without tables: a letter is an ASCII letter, the same in every language."""

import re
import string

BLANKS = " \t\n"
_IN_NAME = frozenset(string.ascii_letters + string.digits + "_$")


def words(text: str) -> list[str]:
    """The words of a text, in lower case."""
    return [word.lower() for word in re.findall("[A-Za-z0-9_]+", text)]


def count(text: str, part: str, *, whole: bool) -> int:
    """At how many positions `part` stands in a text.

    Where it begins with a letter, it stands at the beginning of a name; with `whole` a dot before it makes it a part of
    another name too.
    """
    named = part[0] in string.ascii_letters
    found, at = 0, text.find(part)
    while at >= 0:
        before = text[at - 1 : at]
        found += not (named and (before in _IN_NAME or (whole and before == ".")))
        at = text.find(part, at + 1)
    return found
