"""Draws a cast as an SVG that plays it once, by CSS alone, and then shows the last screen.

Everything that was printed is one tall text, and a window moves over it. Each part of the text is hidden until its time. Without
animation, for readers who want less motion, that leaves the last screen.
"""

import sys
from dataclasses import dataclass
from itertools import groupby
from xml.sax.saxutils import escape

import pyte
import pyte.graphics

from parts.cast import PROMPT, Cast

COLUMN, ROW, SIZE, MARGIN = 8.43, 19, 14, 14
"""Of a cell, of the letters and around the screen, in units of the picture. The font's letters are stretched to the cells."""
FONTS = 'ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono","Liberation Mono",monospace'
FAINT = "faint"
PALETTE = {
    # Letters have a contrast of at least 4.5 to the background.
    "back": ("#ffffff", "#12161c"),
    "edge": ("#c9d1d9", "#3a424d"),
    "text": ("#1f2328", "#e2e8ef"),
    FAINT: ("#5b636d", "#98a3b0"),
    "red": ("#b42318", "#ff8a80"),
    "green": ("#17692f", "#6fd489"),
    "brown": ("#7d4e00", "#e5b567"),
    "cyan": ("#0b6470", "#6fcfdc"),
    "magenta": ("#8a2fa8", "#dd9bf0"),
}
"""By the name that pyte has for it: the colour in the light and in the dark."""

Cells = dict[tuple[int, int], tuple[str, str, float]]
"""By row and column of the whole text: the letter, its classes, and since when it is there."""

# pyte knows no faint text; a colour is as good.
pyte.graphics.FG_ANSI[2] = FAINT


@dataclass(frozen=True)
class Part:
    """Letters that look alike and appeared together."""

    text: str
    look: str
    """Its classes."""
    at: float | None
    """When it appeared; none if it is a blank, which has no time of its own."""


def draw_cast(cast: Cast, description: str) -> str:
    screen = pyte.HistoryScreen(cast.width, cast.height, history=10_000)
    stream = pyte.Stream(screen)
    seen: Cells = {}
    scrolled, cursor = [(0.0, 0)], []
    for at, text in cast.events:
        stream.feed(text)
        before, above = scrolled[-1][1], len(screen.history.top)
        rows = {row: screen.history.top[row] if row < above else screen.buffer[row - above] for row in range(before, above + cast.height)}
        for row, line in rows.items():
            keep_cells(row, line, at, seen)
        if above != before:
            scrolled.append((at, above))
        # A cursor is where the person types, and nowhere while a command runs.
        shown = len(text) <= len(PROMPT) and "\n" not in text
        cursor.append((at, screen.cursor.x, above + screen.cursor.y, shown))
    drawn = [draw_line(row, seen, cast.width) for row in range(1 + max(row for row, _ in seen))]
    return compose(cast, description, drawn, scrolled, cursor)


def keep_cells(row: int, line: dict[int, pyte.screens.Char], at: float, seen: Cells) -> None:
    for column, cell in line.items():
        place = row, column
        if not cell.data.strip():
            seen.pop(place, None)
        elif place not in seen or seen[place][:2] != (cell.data, name_look(cell)):
            seen[place] = cell.data, name_look(cell), at


def name_look(cell: pyte.screens.Char) -> str:
    if cell.bg != "default" or cell.fg not in ("default", *PALETTE) or cell.underscore or cell.italics or cell.reverse:
        sys.exit(f"release/record: there is no way yet to draw {cell}; add it to release/parts/drawing.py")
    return " ".join(name for name in (cell.fg, "bold" if cell.bold else "") if name not in ("default", ""))


def draw_line(row: int, seen: Cells, width: int) -> str:
    cells = [seen.get((row, column), (" ", "", None)) for column in range(width)]
    parts = join_parts([Part(text, look, at) for text, look, at in cells])
    if not parts:
        return ""
    times = {part.at for part in parts}
    letters = sum(len(part.text) for part in parts)
    # The length keeps the columns in their places in every font.
    line = f'<text y="{row * ROW + SIZE}" textLength="{letters * COLUMN:.0f}"'
    if len(times) == 1:
        line += f' style="--t:{times.pop():.2f}s"'
        parts = [Part(part.text, part.look, None) for part in parts]
    return line + ">" + "".join(map(draw_part, parts)) + "</text>"


def draw_part(part: Part) -> str:
    classes = f' class="{part.look}"' if part.look else ""
    time = f' style="--t:{part.at:.2f}s"' if part.at is not None else ""
    return f"<tspan{classes}{time}>{escape(part.text)}</tspan>" if classes or time else escape(part.text)


def join_parts(cells: list[Part]) -> list[Part]:
    """Joins neighbours, and blanks with what stands before them."""
    joined: list[Part] = []
    for cell in cells:
        last = joined[-1] if joined else None
        if last and cell.at is None:
            joined[-1] = Part(last.text + cell.text, last.look, last.at)
        elif last and (last.at is None or (last.look, last.at) == (cell.look, cell.at)):
            joined[-1] = Part(last.text + cell.text, cell.look, cell.at)
        else:
            joined.append(cell)
    while joined and joined[-1].at is None:
        joined.pop()
    if joined:
        joined[-1] = Part(joined[-1].text.rstrip(), joined[-1].look, joined[-1].at)
    return joined


def compose(cast: Cast, description: str, drawn: list[str], scrolled: list, cursor: list) -> str:
    wide, high = round(cast.width * COLUMN), cast.height * ROW
    width, height = wide + 2 * MARGIN, high + 2 * MARGIN
    end = cast.seconds
    moves = "".join(f"{100 * at / end:.2f}%{{transform:translateY({-row * ROW}px)}}" for at, row in scrolled)
    _, column, row, _ = cursor[-1]
    lines = "\n".join(filter(None, drawn))
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" \
aria-labelledby="title desc" xml:space="preserve">
<title id="title">{escape(cast.title)}</title>
<desc id="desc">{escape(description)}</desc>
<style>
{write_colours(0)}
@media (prefers-color-scheme:dark){{
{write_colours(1)}
}}
text{{font:{SIZE}px {FONTS};fill:var(--text);white-space:pre}}
.bold{{font-weight:bold}}
{"".join(f".{name}{{fill:var(--{name})}}" for name in list(PALETTE)[3:])}
#back{{fill:var(--back);stroke:var(--edge)}}
#cursor{{fill:var(--{FAINT});transform:translate({column * COLUMN:.1f}px,{row * ROW}px)}}
#paper{{transform:translateY({-scrolled[-1][1] * ROW}px)}}
@media (prefers-reduced-motion:no-preference){{
[style]{{animation:hidden var(--t)}}
#paper{{animation:scroll {end:.2f}s step-end}}
#cursor{{animation:type {end:.2f}s step-end}}
}}
@keyframes hidden{{from,to{{visibility:hidden}}}}
@keyframes scroll{{{moves}}}
@keyframes type{{{write_cursor(cursor, end)}}}
</style>
<rect id="back" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8"/>
<svg x="{MARGIN}" y="{MARGIN}" width="{wide}" height="{high}">
<g id="paper">
<rect id="cursor" y="2" width="{COLUMN}" height="{ROW - 3}"/>
{lines}
</g>
</svg>
</svg>
"""


def write_colours(scheme: int) -> str:
    variables = ";".join(f"--{name}:{colours[scheme]}" for name, colours in PALETTE.items())
    return f":root{{{variables}}}"


def write_cursor(cursor: list, end: float) -> str:
    frames = []
    for shown, places in groupby(cursor, key=lambda place: place[3]):
        look = f"visibility:{'visible' if shown else 'hidden'}"
        for at, column, row, _ in list(places)[: None if shown else 1]:
            place = f"transform:translate({column * COLUMN:.1f}px,{row * ROW}px)" if shown else ""
            frames.append(f"{100 * at / end:.2f}%{{{';'.join(filter(None, (look, place)))}}}")
            look = ""
    return "".join(frames)
