"""The newest test run that failed: the plugin's own state."""

import re
from dataclasses import dataclass
from typing import Self

# How much is kept of what it showed.
_MOST_SHOWN = 2048
_STATE = re.compile(rb"1 ([0-9]+)\n(.*)", re.DOTALL)


@dataclass
class Memory:
    """A test run that failed."""

    step: int
    shown: bytes

    @classmethod
    def read(cls, state: bytes) -> Self | None:
        """What the state tells of it."""
        found = _STATE.fullmatch(state)
        return cls(int(found[1]), found[2]) if found else None

    @classmethod
    def of(cls, step: int, error: str, output: str) -> Self:
        """What is kept of one."""
        return cls(step, f"{error}\n{output}".encode()[:_MOST_SHOWN])

    def state(self) -> bytes:
        """The state that tells of it."""
        return b"1 %d\n%b" % (self.step, self.shown)
