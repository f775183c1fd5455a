#!/usr/bin/env python3
"""A server of the Model Context Protocol for tests, on standard input and output.

The first argument is a file with JSON, read again for each list of tools:

  tools     the tools; with `pages`, that many on each page
  answers   by a tool's name, a resource's address or a prompt's name: the result of its calls, or
            with `raw` the text of the whole answer, in which @id@ is the id of the request
  before    by a tool's name: messages that come before the answer
  exit      the exit code after the end of the input
  after     {"calls": N, "tools": [...]}: other tools after N calls

The second argument is a file that gets every line as it was read.
"""

import json
import sys

SCRIPT, LOG = sys.argv[1], sys.argv[2]
calls = 0


def script():
    with open(SCRIPT, encoding="utf-8") as file:
        return json.load(file)


def send(text):
    sys.stdout.buffer.write(text.encode() + b"\n")
    sys.stdout.buffer.flush()


def answer(message, result):
    send(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}))


def list_tools(message):
    said = script()
    tools = said.get("tools", [])
    if calls >= said.get("after", {}).get("calls", 1 << 30):
        tools = said["after"]["tools"]
    size = said.get("pages", len(tools) or 1)
    start = int(message.get("params", {}).get("cursor", "0"))
    result = {"tools": tools[start : start + size]}
    if start + size < len(tools):
        result["nextCursor"] = str(start + size)
    return result


def call_tool(message):
    global calls
    calls += 1
    said, params = script(), message["params"]
    name = params.get("uri") or params["name"]
    for text in said.get("before", {}).get(name, []):
        send(text if isinstance(text, str) else json.dumps(text))
    known = said.get("answers", {}).get(name)
    if isinstance(known, dict) and "raw" in known:
        send(known["raw"].replace("@id@", json.dumps(message["id"])))
    elif known is not None:
        answer(message, known)
    else:
        text = "echo: " + json.dumps(params.get("arguments", {}))
        answer(message, {"content": [{"type": "text", "text": text}]})


def take(line):
    with open(LOG, "ab") as log:
        log.write(line)
    message = json.loads(line)
    method = message.get("method")
    if method is None or "id" not in message:
        return
    if method == "initialize":
        version = message["params"]["protocolVersion"]
        info = {"name": "scripted", "version": "1"}
        capabilities = {"tools": {"listChanged": True}}
        answer(message, {"protocolVersion": version, "capabilities": capabilities, "serverInfo": info})
    elif method == "tools/list":
        answer(message, list_tools(message))
    elif method in ("tools/call", "resources/read", "prompts/get"):
        call_tool(message)
    elif method == "ping":
        answer(message, {})
    else:
        error = {"code": -32601, "message": "no such method"}
        send(json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error}))


for line in sys.stdin.buffer:
    take(line)
sys.exit(script().get("exit", 0))
