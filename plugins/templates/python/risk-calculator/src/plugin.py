"""Asks before an applied database migration is changed.

Whoever ran a migration has its old text: changing the file changes nothing for them, and everything for those who
run it later.
"""

import portcullis
from wit_world import exports
from wit_world.exports.assessor import Assessment, Objection, Ruling
from wit_world.imports.types import Action, Context, Path, Setting, Severity

DEFAULTS = {"folders": ["migrations"]}


@portcullis.telling
class Assessor(exports.Assessor):
    def prepare(self, settings: list[Setting]) -> bytes:
        return portcullis.prepared(settings, DEFAULTS)

    def assess(self, prepared: bytes, action: Action, context: Context) -> Assessment:
        folders = portcullis.settings(prepared)["folders"]
        for effect, path in portcullis.touched(action):
            if effect in ("FileModify", "FileDelete") and lies_in(path, folders):
                return Assessment(risk=None, rationality=None, side_effects=None, rulings=[refusal(path)])
        return Assessment(risk=None, rationality=None, side_effects=None, rulings=[])


def lies_in(path: Path, folders: list[str]) -> bool:
    """One of the folders that it is in has one of the names."""
    return any(folder in folders for folder in path.text.split("/")[:-1])


def refusal(path: Path) -> Ruling:
    return Ruling(
        rule="sample-check",
        objection=Objection.ASK,
        severity=Severity.HIGH,
        reason="an applied migration must stay as it was run",
        evidence=portcullis.because("path", path.text),
        alternatives=["write a new migration that makes the change"],
        rewrite=None,
    )
