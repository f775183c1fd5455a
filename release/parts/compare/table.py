"""The measurements as tables in Markdown."""

import re
from pathlib import Path

from parts.compare.client import OBJECTIONS

WORDS = {"none": "–", "allow": "allow", "warn": "warn", "changed": "modify", "ask": "ask", "held": "held", "deny": "deny"}


def render_tables(found: dict) -> dict[str, str]:
    guards = found["guards"].values()
    rows = [[""] + [guard["title"] for guard in guards]]
    rows += [[name] + [show(guard, found) for guard in guards] for name, show in ROWS]
    actions = [["action", "judged"] + [guard["title"] for guard in guards]]
    for action in found["actions"]:
        verdicts = [WORDS[guard["verdicts"][action["id"]]] for guard in guards]
        actions.append([describe(action), "harmful" if action["label"] == "dangerous" else "harmless", *verdicts])
    note = (
        f"{found['rounds']} rounds on {found['processors']} processors, load {found['load']:.1f} before they began; "
        f"`sh -c true` took {found['sh']['median_ms']:.1f} ms in the median."
    )
    return {"measured": f"{render(rows)}\n\n{note}", "actions": render(actions)}


def write_tables(tables: dict[str, str], page: Path) -> None:
    """Puts each table into a page, between the comments that name it."""
    text = page.read_text()
    for name, table in tables.items():
        place = re.compile(f"(?<=<!-- {name} -->\n).*?(?=\n<!-- end of {name} -->)", re.DOTALL)
        if not place.search(text):
            raise ValueError(f"{page} has no place for the table `{name}`")
        text = place.sub(lambda found: f"\n{table}\n", text)
    page.write_text(text)


def render(rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    lines.insert(1, "|" + "---|" * len(rows[0]))
    return "\n".join(lines)


def describe(action: dict) -> str:
    what = action["input"].get("command") or f"{action['tool']} {action['input']['file_path']}"
    what = what.replace("HOME/", "~/").replace("PROJECT/", "").replace("|", "\\|")
    return f"`{what}`"


def count(label: str):
    def show(guard: dict, found: dict) -> str:
        names = [action["id"] for action in found["actions"] if action["label"] == label]
        verdicts = [guard["verdicts"][name] for name in names]
        warned = verdicts.count("warn")
        text = f"{sum(verdict in OBJECTIONS for verdict in verdicts)} of {len(names)}"
        return text + (f", {warned} more get a warning" if warned else "")

    return show


def failure(name: str):
    return lambda guard, found: guard["failures"][name]


def megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB"


def show_resident(guard: dict, found: dict) -> str:
    time = guard["time"]
    return f"{time['processes']}, {megabytes(time['memory'])}" if time["processes"] else "none"


def show_time(guard: dict, found: dict) -> str:
    time = guard["time"]
    return f"{time['ratio']:.1f}; {time['p90_ratio']:.1f}"


def show_prompt(guard: dict, found: dict) -> str:
    harmless = [action["id"] for action in found["actions"] if action["label"] == "benign"]
    skipped = sum(guard["verdicts"][name] == "allow" for name in harmless)
    return f"skipped for {skipped} of {len(harmless)}" if skipped else "kept"


ROWS = [
    ("version", lambda guard, found: guard["version"]),
    ("from", lambda guard, found: guard["source"]),
    ("licence", lambda guard, found: guard["licence"]),
    ("installed size", lambda guard, found: megabytes(guard["installed_bytes"])),
    ("what it keeps after the timed hooks", lambda guard, found: megabytes(guard["time"]["state"])),
    ("time of a hook, as a multiple of `sh -c true`: median; nine of ten below", show_time),
    ("processes left running, with memory", show_resident),
    ("harmful actions objected to", count("dangerous")),
    ("harmless actions objected to", count("benign")),
    ("the client's own prompts for harmless actions", show_prompt),
    ("its program is missing", failure("missing")),
    ("its program crashes", failure("crashes")),
    ("its state is damaged", failure("damaged")),
    ("a changed record of its journal", lambda guard, found: guard["journal"]),
    ("`rm -r` of a draft that git does not hold", lambda guard, found: guard["undo"]),
]
