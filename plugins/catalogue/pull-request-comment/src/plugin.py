"""Writes records as a comment for a pull request.

Each batch of records is a comment of its own: nothing says which batch is the last, and a comment has a size.
"""

import json
import re

import portcullis
from comment import Config, write
from records import VERDICTS
from wit_world import exports
from wit_world.exports.exporter import AuditRecord, Rendered
from wit_world.imports.types import Setting

# The least that a heading and the counts fit into, with something to tell.
_LEAST, _MOST = 4096, 65_536
_TITLE = re.compile(r"[^\W_]+(?: [^\W_]+)*")


@portcullis.telling
class Exporter(exports.Exporter):
    def prepare(self, settings: list[Setting]) -> bytes:
        usual = Config()
        defaults = {"title": usual.title, "least": usual.least, "details": usual.details, "most_characters": usual.most_characters}
        config = Config(**json.loads(portcullis.prepared(settings, defaults)))
        if not _TITLE.fullmatch(config.title) or len(config.title) > 80:
            raise portcullis.refused("title", "should be letters, digits and single spaces, 80 at most")
        if config.least not in VERDICTS[1:]:
            raise portcullis.refused("least", f"should be one of {', '.join(VERDICTS[1:])}")
        if not _LEAST <= config.most_characters <= _MOST:
            raise portcullis.refused("most_characters", f"should be from {_LEAST} to {_MOST}")
        return config.to_bytes()

    def render(self, prepared: bytes, records: list[AuditRecord], first: bool) -> Rendered:
        text = write(Config(**json.loads(prepared)), records, first)
        return Rendered(text.encode(), "text/markdown; charset=utf-8")
