"""Text in Markdown that cannot become markup.

What an agent wrote stands in code alone: in a code span or a fenced block no renderer looks for HTML, links, mentions,
references or emphasis, and those that look for them in the rendered page leave code out. Escaping each character would
not do: a mention is looked for in the page, where an escaped `@` is one again.
"""

import re

# What nobody sees, or what changes the order of what is seen. A pattern, since looking at each character here would
# cost more fuel than a call has.
_HIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffc\U000e0000-\U000e0fff]"
)
# Most texts: of one line, without anything that has a meaning in a span or in a table.
_PLAIN = re.compile(r"[!-\[\]-_a-{}~]+(?: [!-\[\]-_a-{}~]+)*")
_TICKS = re.compile("`+")
# A bar in place of one that follows a backslash: readers differ in whether that ends a cell.
_BAR = "\u2502"
_CUT = "…"


def code(text: str, most: int) -> str:
    """A code span of one line, for text outside tables. Empty text is a dash."""
    if len(text) <= most and _PLAIN.fullmatch(text):
        return f"`{text}`"
    return _span(_one_line(text, most))


def cell(text: str, most: int) -> str:
    """A code span for a cell of a table, which a bar would end."""
    if len(text) <= most and _PLAIN.fullmatch(text):
        return f"`{text}`"
    line = _one_line(text, most)
    if "|" in line:
        line = line.replace("\\|", "\\" + _BAR).replace("|", "\\|")
    return _span(line)


def fence(text: str, most: int) -> str:
    """A fenced block, with a fence that is longer than any that stands in it."""
    body = _begin(text, most)
    if not (len(body) <= most and _PLAIN.fullmatch(body)):
        lines = [show(line.rstrip("\r")) for line in body.replace("\t", "    ").split("\n")]
        body = cut("\n".join(lines), most)
    mark = "`" * max(3, _longest(body) + 1)
    return f"{mark}text\n{body}\n{mark}"


def show(text: str) -> str:
    """The text, with what is hidden spelled out."""
    return _HIDDEN.sub(lambda match: f"\\u{{{ord(match[0]):x}}}", text)


def is_hidden(character: str) -> bool:
    return _HIDDEN.match(character) is not None


def cut(text: str, most: int) -> str:
    """The text within a number of bytes."""
    # No character has more than four bytes.
    if 4 * len(text) <= most:
        return text
    data = text[: most + 1].encode(errors="replace")
    if len(data) <= most:
        return data.decode()
    return data[: most - len(_CUT.encode())].decode(errors="ignore") + _CUT


def _one_line(text: str, most: int) -> str:
    return cut(show(" ".join(_begin(text, most).split())), most)


def _begin(text: str, most: int) -> str:
    """What of a text may be shown: the rest need not be looked at."""
    return text if len(text) <= 2 * most else text[: 2 * most] + _CUT


def _span(line: str) -> str:
    if not line:
        return "–"
    mark = "`" * (_longest(line) + 1)
    # A backtick at an end would be one of the mark; the reader takes one blank at both ends away.
    blank = " " if line[0] in "` " or line[-1] in "` \\" else ""
    return f"{mark}{blank}{line}{blank}{mark}"


def _longest(text: str) -> int:
    return max(map(len, _TICKS.findall(text)), default=0) if "`" in text else 0
