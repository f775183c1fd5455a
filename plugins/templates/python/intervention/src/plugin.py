"""Has the agent stop, look back at what was asked for, and say what it will do.

The host has decided already that an answer is due; this one words it.
"""

import portcullis
from wit_world import exports
from wit_world.exports.intervener import Background, Guidance, Issue, Response, Response_Guide, Situation
from wit_world.imports.types import Context, Setting


@portcullis.telling
class Intervener(exports.Intervener):
    def prepare(self, settings: list[Setting]) -> bytes:
        return portcullis.prepared(settings, {})

    def intervene(self, prepared: bytes, issue: Issue, situation: Situation, context: Context) -> Response:
        message = f"{issue.summary}. Stop here, and say in a sentence what you will do next and why."
        # The newest is the most important.
        requests = [Background("original request", goal.text, emphasised=True) for goal in context.goals[-1:]]
        return Response_Guide(Guidance(messages=[message], background=requests, limits=[]))
