"""A model that plays a script: a Messages API on the loopback interface, for a real client that runs without a network."""

import json
import threading
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class ScriptedModel(ThreadingHTTPServer):
    """Answers each request that offers tools with the next turn, a list of content blocks, and keeps its messages.

    Everything else that a client asks of a model, such as a title for the session, gets a fixed text. It ends with `with`.
    """

    daemon_threads = True

    def __init__(self, turns: list[list[dict]]):
        super().__init__(("127.0.0.1", 0), Answer)
        self.turns = list(turns)
        self.requests: list[dict] = []
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def __enter__(self):
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *error):
        self.shutdown()
        super().__exit__(*error)

    def take_turn(self, request: dict) -> list[dict]:
        if not any(tool.get("name") == "Bash" for tool in request.get("tools") or []):
            return [{"type": "text", "text": "ok"}]
        with self.lock:
            self.requests.append(request)
            return self.turns.pop(0) if self.turns else [{"type": "text", "text": "(the script has no further turn)"}]

    def find_result(self, call: str) -> dict | None:
        """Returns what the client told the model of a tool's call."""
        for request in self.requests:
            for message in request["messages"]:
                blocks = message["content"] if isinstance(message["content"], list) else []
                for block in blocks:
                    if block.get("type") == "tool_result" and block.get("tool_use_id") == call:
                        return block
        return None


class Answer(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_HEAD(self):
        self.send("application/json", "")

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
        path = self.path.split("?")[0]
        if path == "/v1/messages/count_tokens":
            self.send("application/json", json.dumps({"input_tokens": 100}))
        elif path == "/v1/messages":
            message = make_message(body, self.server.take_turn(body))
            if body.get("stream"):
                events = (f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in list_events(message))
                self.send("text/event-stream", "".join(events))
            else:
                self.send("application/json", json.dumps(message))
        else:
            self.send("application/json", "{}", status=404)

    def send(self, kind: str, text: str, status: int = 200):
        data = text.encode()
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def log_message(self, *_):
        """Says nothing: what a client asks is in `requests`."""


def make_message(request: dict, content: list[dict]) -> dict:
    calls = any(block["type"] == "tool_use" for block in content)
    return {
        "id": f"msg_{uuid.uuid4().hex}",
        "type": "message",
        "role": "assistant",
        "model": request.get("model"),
        "content": content,
        "stop_reason": "tool_use" if calls else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 100, "output_tokens": 20},
    }


def list_events(message: dict) -> list[dict]:
    """Returns the message as the events of a stream: each block begins empty, and comes in one piece."""
    events = [{"type": "message_start", "message": message | {"content": [], "stop_reason": None}}]
    for index, block in enumerate(message["content"]):
        if block["type"] == "text":
            empty, delta = block | {"text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            empty, delta = block | {"input": {}}, {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        events.append({"type": "content_block_start", "index": index, "content_block": empty})
        events.append({"type": "content_block_delta", "index": index, "delta": delta})
        events.append({"type": "content_block_stop", "index": index})
    stop = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    events.append({"type": "message_delta", "delta": stop, "usage": {"output_tokens": 20}})
    return [*events, {"type": "message_stop"}]
