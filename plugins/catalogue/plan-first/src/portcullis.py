"""What a plugin in Python needs most: its settings checked, and what an action touches."""

import functools
import json
from typing import Any, Callable, Iterator, Optional

from componentize_py_types import Err
from wit_world.imports import host
from wit_world.imports.types import Action, Attribute, Error_InvalidSetting, Evidence, Path, Setting, SettingError


# The most that is told of an exception, in characters and in calls that led to it.
_MOST_SAID = 200
_MOST_PLACES = 4


def telling(plugin: type) -> type:
    """The class, with the words and places of an exception that one of its functions raises written to the log: by itself
    it is a trap that says nothing. What `refused` made is no such exception."""
    for name, function in list(vars(plugin).items()):
        if not name.startswith("_") and callable(function):
            setattr(plugin, name, _told(function))
    return plugin


def _told(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*given: Any) -> Any:
        try:
            return function(*given)
        except Err:
            raise
        except Exception as error:
            host.log(host.Level.ERROR, f"{type(error).__name__}: {error}"[:_MOST_SAID] + f", at {_places(error)}")
            raise

    return call


def _places(error: Exception) -> str:
    """Where it was raised, innermost first: `plugin.py:20 (assess)`."""
    # The first call is the one that tells.
    calls, call = [], error.__traceback__ and error.__traceback__.tb_next
    while call:
        code = call.tb_frame.f_code
        calls.append(f"{code.co_filename.rpartition('/')[2]}:{call.tb_lineno} ({code.co_name})")
        call = call.tb_next
    return ", ".join(calls[: -_MOST_PLACES - 1 : -1])


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


def attribute(attributes: list[Attribute], name: str) -> Optional[str]:
    """The value of an attribute; none if the host has none of that name, as older ones may."""
    return next((one.value for one in attributes if one.name == name), None)


def because(kind: str, value: str) -> list[Evidence]:
    """A point in favour of a finding, as the only one."""
    return [Evidence(kind, value, None)]


_NAMES = {str: "a text", int: "an integer", float: "a decimal", bool: "a flag", list: "a list of texts"}
