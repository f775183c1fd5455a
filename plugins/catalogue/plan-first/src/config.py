"""The settings."""

import json
from dataclasses import asdict, dataclass, field, replace

import portcullis
import texts
from values import NAMES
from wit_world.imports.types import Context, Setting

STRICTEST = ("guidance", "limits", "checkpoint", "stop")
# The strictest answer that fits a place in a ladder, by the kind of intervention that is due there.
_PLACES = {
    "soft_correction": "guidance",
    "context_reinforcement": "guidance",
    "resource_throttling": "limits",
    "checkpoint_rollback": "checkpoint",
}
_TEMPLATES = "templates."
_BOUNDS = {"background_from": (0, 4), "stop_from": (1, 5), "tighten": (1, 100), "least_success": (0, 100)}


@dataclass(frozen=True)
class Config:
    plan_file: str = "PLAN.md"
    confirm: bool = True
    background_from: int = 2
    stop_from: int = 3
    strictest: str = "stop"
    tighten: int = 50
    least_success: int = 70
    templates: dict[str, str] = field(default_factory=dict)

    def within(self, context: Context) -> "Config":
        """The same, no stricter than the place that the host gives the plugin; one that decides has none."""
        place = _PLACES.get(portcullis.attribute(context.attributes, "due-kind") or "", "stop")
        return replace(self, strictest=min(self.strictest, place, key=STRICTEST.index))

    def allows(self, answer: str) -> bool:
        """Whether an answer is no stricter than the strictest."""
        return STRICTEST.index(answer) <= STRICTEST.index(self.strictest)


def check(given: list[Setting]) -> bytes:
    """Settings that are right, as bytes."""
    own = [setting for setting in given if not setting.key.startswith(_TEMPLATES)]
    defaults = {name: value for name, value in asdict(Config()).items() if name != "templates"}
    try:
        values = json.loads(portcullis.prepared(own, defaults))
    except KeyError:
        raise portcullis.refused(own[0].key, "has a type that no setting has") from None
    for key, (least, most) in _BOUNDS.items():
        if not least <= values[key] <= most:
            raise portcullis.refused(key, f"should be from {least} to {most}")
    if values["strictest"] not in STRICTEST:
        raise portcullis.refused("strictest", f"should be one of {', '.join(STRICTEST)}")
    if values["background_from"] >= values["stop_from"]:
        raise portcullis.refused("background_from", "should be below `stop_from`")
    _check_plan_file(values["plan_file"])
    values["templates"] = dict(_check_template(setting) for setting in given if setting.key.startswith(_TEMPLATES))
    return json.dumps(values).encode()


def read(prepared: bytes) -> Config:
    """What `check` wrote."""
    return Config(**json.loads(prepared))


def _check_plan_file(name: str) -> None:
    parts = name.split("/")
    if name != texts.line(name, 200) or name.startswith(("/", "~")) or ".." in parts or name.endswith("/"):
        raise portcullis.refused("plan_file", "should be the path of a file in the project, like `PLAN.md` or `docs/plan.md`")


def _check_template(setting: Setting) -> tuple[str, str]:
    text = setting.value.value
    if not isinstance(text, str):
        raise portcullis.refused(setting.key, "should be a text")
    try:
        texts.fill(text, dict.fromkeys(NAMES, ""))
    except texts.BadTemplate as error:
        raise portcullis.refused(setting.key, str(error)) from None
    return setting.key.removeprefix(_TEMPLATES), text
