"""Notices when one action after another fails.

An agent that fails at everything lately is better stopped and asked than left to try a tenth way.
"""

import portcullis
from wit_world import exports
from wit_world.exports.detector import Detection, Report
from wit_world.imports import host
from wit_world.imports.types import Action, Context, Setting, Severity, Status, Totals

DEFAULTS = {"most": 3}


@portcullis.telling
class Detector(exports.Detector):
    def prepare(self, settings: list[Setting]) -> bytes:
        prepared = portcullis.prepared(settings, DEFAULTS)
        if not 2 <= portcullis.settings(prepared)["most"] <= 50:
            raise portcullis.refused("most", "should be from 2 to 50")
        return prepared

    def detect(self, prepared: bytes, state: bytes, totals: Totals, action: Action, context: Context) -> Report:
        nothing = Report(detections=[], state=None)
        if action.outcome is None:
            return nothing
        most = portcullis.settings(prepared)["most"]
        # The action itself is the last of them, now that it has ended.
        steps = host.steps(most)
        if len(steps) < most or any(step.status != Status.FAILED for step in steps):
            return nothing
        detection = Detection(
            pattern="sample-check",
            severity=Severity.MEDIUM,
            confidence=700,
            impact=500,
            first_step=steps[0].index,
            summary=f"the last {most} actions failed",
            evidence=portcullis.because("error", action.outcome.error.split("\n")[0]),
        )
        return Report(detections=[detection], state=None)
