"""What a plugin in Python needs most: its settings checked, and what an action touches."""

import json
from typing import Any, Iterator

from componentize_py_types import Err
from wit_world.imports.types import Action, Error_InvalidSetting, Evidence, Path, Setting, SettingError


def refused(key: str, reason: str) -> Err:
    """Says that a setting cannot be used, and what would be right: `raise refused(...)`."""
    return Err(Error_InvalidSetting(SettingError(key, reason)))


def prepared(given: list[Setting], defaults: dict[str, Any]) -> bytes:
    """What `prepare` returns: every setting that `defaults` names, as the operator gave it. Its default tells its type."""
    values = dict(defaults)
    for setting in given:
        if setting.key not in defaults:
            raise refused(setting.key, f"unknown; this plugin knows {', '.join(f'`{key}`' for key in defaults) or 'none'}")
        default, value = defaults[setting.key], setting.value.value
        if isinstance(default, float) and type(value) is int:
            value = float(value)
        if type(value) is not type(default):
            raise refused(setting.key, f"is {_NAMES[type(value)]}, should be {_NAMES[type(default)]}")
        values[setting.key] = value
    return json.dumps(values).encode()


def settings(prepared: bytes) -> dict[str, Any]:
    """What `prepared` wrote."""
    return json.loads(prepared)


def touched(action: Action) -> Iterator[tuple[str, Path]]:
    """Every path that the action touches, with what it does to it: `FileRead`, `FileModify`, `FileDelete`, ..."""
    for effect in action.facts.effects:
        if effect.path is not None:
            yield type(effect.kind).__name__.removeprefix("EffectKind_"), action.facts.paths[effect.path]


def because(kind: str, value: str) -> list[Evidence]:
    """A point in favour of a finding, as the only one."""
    return [Evidence(kind, value, None)]


_NAMES = {str: "a text", int: "an integer", float: "a decimal", bool: "a flag", list: "a list of texts"}
