#!/usr/bin/env python3
"""A server that notes what it gets, and reads it in every way in which servers read.

The first argument is `client`, for messages of the client, or `server`, to send the file `lines`.
The second one is the folder for `received` (every line) and `violations` (lines that are a call of
a tool for some reader).
"""

import json
import re
import sys

MODE, FOLDER = sys.argv[1], sys.argv[2]
PIECES = re.compile("\r|\u2028|\u2029|\x85|\x0b|\x0c")


def note(name, line):
    with open(f"{FOLDER}/{name}", "ab") as file:
        file.write(line)


def members(text):
    """Returns the name and value of every member at the top, repeated ones too."""
    found = json.JSONDecoder(object_pairs_hook=list, strict=False).decode(text)
    return found if isinstance(found, list) else []


def is_call(text):
    try:
        pairs = members(text.strip("\ufeff \t\0"))
    except (ValueError, RecursionError):
        return False
    if pairs and isinstance(pairs[0], list):
        pairs = [pair for message in pairs if isinstance(message, list) for pair in message]
    for pair in pairs:
        if isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[1], str):
            name, value = pair[0].casefold(), pair[1].casefold().strip(" \t\r\n\0")
            if name == "method" and value == "tools/call":
                return True
    return False


def answer(line):
    message = json.loads(line)
    if not isinstance(message, dict) or "method" not in message or message.get("id") is None:
        return
    tools = [{"name": "agreed", "inputSchema": {"type": "object"}}]
    result = {"tools": tools} if message["method"] == "tools/list" else {}
    text = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result})
    sys.stdout.buffer.write(text.encode() + b"\n")
    sys.stdout.buffer.flush()


if MODE == "server":
    with open(f"{FOLDER}/lines", "rb") as lines:
        sys.stdout.buffer.write(lines.read())
    sys.stdout.buffer.flush()
    sys.stdin.buffer.read()
    sys.exit(0)

for line in sys.stdin.buffer:
    note("received", line)
    text = line.decode("utf-8", "replace").rstrip("\n")
    if any(is_call(piece) for piece in [text, *PIECES.split(text)]):
        note("violations", line)
    answer(line)
