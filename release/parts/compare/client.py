"""What Claude Code does with hooks: which it starts, with what, and what an answer means.

The rules are those of its documentation and of its behaviour in version 2.1.329: a refusal counts at any exit code, 2 refuses,
and any other failure lets the action run unless the hook says `"onFailure": "block"`.
"""

import json
import re
import subprocess
from dataclasses import dataclass

from parts.compare.box import Box

STRICTER = ["none", "allow", "warn", "changed", "ask", "held", "deny"]
OBJECTIONS = ("changed", "ask", "held", "deny")


@dataclass
class Answer:
    """What the client makes of all hooks of one event."""

    verdict: str = "none"
    failed: bool = False
    reason: str = ""
    changed: dict | None = None

    @property
    def objects(self) -> bool:
        return self.verdict in OBJECTIONS


@dataclass
class Session:
    """One conversation of the client, in the box of one guard."""

    box: Box
    name: str
    calls: int = 0

    def open(self) -> "Session":
        self.fire("SessionStart", None, {"source": "startup"}, match="startup")
        self.fire("UserPromptSubmit", None, {"prompt": "Add a search to the shop, run the tests and push your branch."})
        return self

    def before(self, tool: str, tool_input: dict) -> Answer:
        self.calls += 1
        return self.fire("PreToolUse", tool, {"tool_name": tool, "tool_input": self.fill(tool_input), "tool_use_id": self.call()})

    def after(self, tool: str, tool_input: dict, output: str) -> None:
        response = {"stdout": output, "stderr": "", "interrupted": False, "isImage": False}
        event = {"tool_name": tool, "tool_input": self.fill(tool_input), "tool_use_id": self.call(), "tool_response": response}
        self.fire("PostToolUse", tool, event)

    def call(self) -> str:
        return f"toolu_{self.name}_{self.calls}"

    def fill(self, tool_input: dict) -> dict:
        """Puts the folders of this box into the paths of an action."""
        text = json.dumps(tool_input).replace("PROJECT/", f"{self.box.project}/").replace("HOME/", f"{self.box.home}/")
        return json.loads(text)

    def fire(self, event: str, tool: str | None, more: dict, match: str = "") -> Answer:
        payload = {
            "session_id": self.name,
            "transcript_path": str(self.box.home / ".claude/projects/shop" / f"{self.name}.jsonl"),
            "cwd": str(self.box.project),
            "hook_event_name": event,
            **({} if event == "SessionStart" else {"permission_mode": "default"}),
            **more,
        }
        answers = [self.start(handler, event, payload) for handler in self.handlers(event, tool or match)]
        return max(answers, key=lambda answer: STRICTER.index(answer.verdict), default=Answer())

    def handlers(self, event: str, subject: str) -> list[dict]:
        settings = json.loads((self.box.home / ".claude/settings.json").read_text())
        groups = settings.get("hooks", {}).get(event, [])
        return [handler for group in groups if matches(group.get("matcher", ""), subject) for handler in group["hooks"]]

    def start(self, handler: dict, event: str, payload: dict) -> Answer:
        command = [handler["command"], *handler["args"]] if "args" in handler else ["/bin/sh", "-c", handler["command"]]
        extra = {"CLAUDECODE": "1", "CLAUDE_PROJECT_DIR": str(self.box.project), "CLAUDE_CODE_SESSION_ID": self.name}
        try:
            ended = self.box.run(command, json.dumps(payload), handler.get("timeout", 60), extra)
        except (OSError, subprocess.TimeoutExpired) as error:
            return fail(handler, str(error))
        return interpret(handler, event, ended.returncode, ended.stdout, ended.stderr)


def matches(matcher: str, subject: str) -> bool:
    return matcher in ("", "*") or re.fullmatch(matcher, subject) is not None


def fail(handler: dict, reason: str) -> Answer:
    return Answer("deny" if handler.get("onFailure") == "block" else "none", True, reason)


def interpret(handler: dict, event: str, code: int, output: str, error: str) -> Answer:
    """What the client makes of what one hook printed."""
    try:
        answer = json.loads(output)
        said = answer.get("hookSpecificOutput", {})
    except (ValueError, AttributeError):
        answer, said = {}, {}
    decision, reason = said.get("permissionDecision"), said.get("permissionDecisionReason", "")
    if decision == "deny" or answer.get("decision") == "block" or (decision and answer.get("continue") is False):
        # HOL Guard: a person may approve the action in its inbox, and the agent tries it again.
        held = decision == "deny" and "approval_resume" in answer
        return Answer("held" if held else "deny", reason=reason or answer.get("reason", ""))
    if code == 2:
        return Answer("deny", reason=error)
    if code != 0:
        return fail(handler, error or f"exit code {code}")
    if decision == "ask":
        return Answer("ask", reason=reason, changed=said.get("updatedInput"))
    if event == "PreToolUse" and said.get("updatedInput"):
        return Answer("changed", reason=reason, changed=said["updatedInput"])
    if answer.get("systemMessage") or said.get("additionalContext"):
        return Answer("warn", reason=answer.get("systemMessage") or said["additionalContext"])
    return Answer("allow" if decision == "allow" else "none")
