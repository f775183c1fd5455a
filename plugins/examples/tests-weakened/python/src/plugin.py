"""Notices tests that are deleted, skipped or loosened while the goal is to make them pass.

`../../README.md` says exactly what it does; each other module here is a section of it.
"""

import goals
import portcullis
import runs
import tests_of
import weakening
from memory import Memory
from weakening import Kind, Weakening
from wit_world import exports
from wit_world.exports.detector import Detection, Report
from wit_world.imports.types import Action, Context, Evidence, Setting, SettingValue_Texts, Totals

FOLDERS = ["test", "tests", "spec", "specs", "__tests__"]


@portcullis.telling
class Detector(exports.Detector):
    def prepare(self, settings: list[Setting]) -> bytes:
        folders = FOLDERS
        for setting in settings:
            if setting.key != "folders":
                raise portcullis.refused(setting.key, "unknown: the only setting is folders")
            if not isinstance(setting.value, SettingValue_Texts):
                raise portcullis.refused(setting.key, "it must be a list of texts")
            folders = setting.value.value
        return "".join(f"{folder}\n" for folder in folders).encode()

    def detect(self, prepared: bytes, state: bytes, totals: Totals, action: Action, context: Context) -> Report:
        if action.outcome is not None:
            return Report([], runs.ended(action, action.outcome))
        failed = Memory.read(state)
        wanted = goals.want_tests_to_pass(context.goals)
        if goals.ask_for_it(context.goals) or not (wanted or failed):
            return Report([], None)
        project = tests_of.Project(context.roots, prepared.decode().split("\n")[:-1])
        found = weakening.of(action, project)
        return Report([detection(found, wanted, failed, action.step)] if found else [], None)


def detection(found: Weakening, wanted: bool, failed: Memory | None, step: int) -> Detection:
    of_a_file = found.kind is not Kind.LEFT_OUT
    why = "while the goal is to make the tests pass" if wanted else "after a test run that failed"
    evidence = [Evidence("path" if of_a_file else "command", found.thing, step)]
    if found.mark:
        evidence.append(Evidence("mark", found.mark, step))
    if failed:
        evidence.append(Evidence("step", str(failed.step), failed.step))
    return Detection(
        pattern="tests_weakened",
        severity=found.kind.severity,
        confidence=confidence(found, wanted, failed),
        impact=found.kind.impact,
        first_step=failed.step if failed else step,
        summary=f"{found.summary()} {why}",
        evidence=evidence,
    )


def confidence(found: Weakening, wanted: bool, failed: Memory | None) -> int:
    if failed and found.kind is not Kind.LEFT_OUT and tests_of.name(found.thing).encode() in failed.shown:
        return 950
    return 800 if wanted and failed else 700
