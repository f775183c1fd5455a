"""Reads back what `markdown` writes, by the rules of CommonMark and of GitHub's tables: `python3 -m unittest discover test`."""

import random
import re
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "src"))

import markdown  # noqa: E402

PARTS = (
    *("`", "``", "```", "````", "~~~", "|", "\\", "\\|", "\\\\|", "\n", "\r\n", "\n\n", "\t", " ", "  ", "x", "é", "🎉"),
    *("<b>", "</details>", "<!--", "-->", "@octocat", "[x](https://evil.example)", "https://evil.example", "#1", "**x**"),
    *("\u200b", "\u202e", "\u2028", "\x00", "\x1b[31m", "&lt;", "&#64;x", "# x", "- x", "> x", "---", "```suggestion\n"),
)
ROUNDS = 1500


def texts() -> list[str]:
    chance = random.Random(1)
    return ["", " ", "`", "\\", "|", "``", *("".join(chance.choice(PARTS) for _ in range(chance.randrange(12))) for _ in range(ROUNDS))]


def read_span(text: str) -> str:
    """The content of a text that is one code span and nothing else."""
    mark = re.match("`+", text)
    assert mark is not None, text
    runs = [run for run in re.finditer("`+", text) if run.start() > 0 and len(run[0]) == len(mark[0])]
    assert runs and runs[0].end() == len(text), text
    content = text[mark.end() : runs[0].start()]
    if content.startswith(" ") and content.endswith(" ") and content.strip(" "):
        content = content[1:-1]
    return content


def cells(row: str, counts_backslashes: bool) -> list[str]:
    """The cells of a row, as readers that take a backslash before a bar for an escape, or two for none."""
    found, at = [""], 0
    while at < len(row):
        if row[at] == "\\" and counts_backslashes and row[at + 1 : at + 2] == "\\":
            found[-1] += row[at : at + 2]
            at += 2
        elif row[at : at + 2] == "\\|":
            found[-1] += "|"
            at += 2
        elif row[at] == "|":
            found.append("")
            at += 1
        else:
            found[-1] += row[at]
            at += 1
    return found


class Spans(unittest.TestCase):
    def test_a_span_is_read_back(self) -> None:
        for text in texts():
            written = markdown.code(text, 10_000)
            if text.split():
                self.assertEqual(read_span(written), markdown.show(" ".join(text.split())), text)
            else:
                self.assertEqual(written, "–")

    def test_a_cell_is_one_cell_for_every_reader(self) -> None:
        for text in filter(str.split, texts()):
            written = markdown.cell(text, 10_000)
            for counts in (True, False):
                read = cells(written, counts)
                self.assertEqual(len(read), 1, text)
                expected = markdown.show(" ".join(text.split()))
                self.assertEqual(read_span(read[0]).replace("\u2502", "|"), expected.replace("\u2502", "|"), text)

    def test_nothing_hidden_is_left(self) -> None:
        for text in texts():
            for written in (markdown.code(text, 10_000), markdown.cell(text, 10_000), markdown.fence(text, 10_000).replace("\n", "")):
                self.assertFalse(any(map(markdown.is_hidden, written)), text)

    def test_texts_are_cut(self) -> None:
        for text in texts():
            self.assertLessEqual(len(markdown.cut(text * 20, 50).encode()), 50)


class Fences(unittest.TestCase):
    def test_a_block_ends_where_it_should(self) -> None:
        for text in texts():
            lines = markdown.fence(text, 10_000).split("\n")
            mark = re.match("`+", lines[0])
            assert mark is not None
            self.assertEqual(lines[0], f"{mark[0]}text")
            # A line of as many backticks or more, and of nothing else, ends the block, with up to 3 blanks before it.
            ends = [at for at, line in enumerate(lines[1:], 1) if re.fullmatch(f" {{0,3}}`{{{len(mark[0])},}}[ \t]*", line)]
            self.assertEqual(ends, [len(lines) - 1], text)


if __name__ == "__main__":
    unittest.main()
