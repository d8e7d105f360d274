"""A fast Messages API on the loopback address, in a process of its own, that says the same thing every time.

    python -m benchmarks.server [--cpu N]        prints its URL, serves until it is stopped

The script stands in the path: `/50x2/v1/messages` answers fifty times with two tool calls, then with a closing text.
The server keeps nothing between requests: the ids of its tool calls carry their round, so the last result in a request
says which round comes next, also where a client sends only what is new. Replies are made once per script; per request
only the round and a serial number are filled in. `/50x2/checked/v1/messages` reads the request first, and refuses one
that the API would refuse.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import functools
import itertools
import json
import os
import re
from typing import Any

from benchmarks.scenario import FINAL, MODEL, NAME

__all__ = ("main",)

SERIAL = itertools.count(1)
LAST_CALL = re.compile(rb"toolu_(\d{6})_")
PATH = re.compile(rb"POST /(\d+)x(\d+)(/checked)?/v1/messages[ ?]")
LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
STREAM = re.compile(rb'"stream": ?true')
USAGE = {"input_tokens": 1200, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 800, "output_tokens": 60}
HEAD = (
    "HTTP/1.1 {status}\r\ndate: Mon, 30 Nov 2026 09:00:00 GMT\r\ncontent-type: {type}\r\nrequest-id: req_bench\r\n"
    "anthropic-ratelimit-requests-limit: 4000\r\nanthropic-ratelimit-requests-remaining: 3999\r\n{framing}\r\n\r\n"
)


def dump(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


class Script:
    """The replies of one script as bytes; `RRRRRR` stands for the round, `SSSSSSSS` for a serial number."""

    def __init__(self, calls: int) -> None:
        asking: list[dict[str, Any]] = [{"type": "text", "text": "On to the next shelves, one moment. " * 2}]
        asking += [
            {
                "type": "tool_use",
                "id": f"toolu_RRRRRR_{number:02}_SSSSSSSS",
                "name": NAME,
                "input": {"shelf": f"RRRRRR-{number}"},
            }
            for number in range(calls)
        ]
        closing = [{"type": "text", "text": f"{FINAL} Nothing is missing."}]
        self.whole = [self._whole(asking, "tool_use"), self._whole(closing, "end_turn")]
        self.streamed = [self._streamed(asking, "tool_use"), self._streamed(closing, "end_turn")]

    def reply(self, number: int, *, last: bool, stream: bool) -> bytes:
        template = (self.streamed if stream else self.whole)[last]
        filled = template.replace(b"RRRRRR", b"%06d" % number)
        return filled.replace(b"SSSSSSSS", b"%08d" % (next(SERIAL) % 10**8))

    def _message(self, content: list[dict[str, Any]], stop_reason: str | None) -> dict[str, Any]:
        return {
            "id": "msg_RRRRRR_SSSSSSSS",
            "type": "message",
            "role": "assistant",
            "model": MODEL,
            "content": content,
            "stop_reason": stop_reason,
            "stop_sequence": None,
            "usage": USAGE,
        }

    def _whole(self, content: list[dict[str, Any]], stop_reason: str) -> bytes:
        return answer("200 OK", dump(self._message(content, stop_reason)))

    def _streamed(self, content: list[dict[str, Any]], stop_reason: str) -> bytes:
        """All events of a reply in one HTTP chunk each, as a proxy-free connection delivers them."""
        events: list[dict[str, Any]] = [{"type": "message_start", "message": self._message([], None)}]
        for index, block in enumerate(content):
            if block["type"] == "text":
                start: dict[str, Any] = {"type": "text", "text": ""}
                words = re.findall(r"\S+\s*", block["text"])
                deltas = [{"type": "text_delta", "text": word} for word in words]
            else:
                start = block | {"input": {}}
                text = json.dumps(block["input"])
                # The placeholder must stay in one piece.
                cuts = [0, 0, 5, text.index("RRRRRR"), len(text)]
                pieces = [text[a:b] for a, b in itertools.pairwise(cuts)]
                deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
            events.append({"type": "content_block_start", "index": index, "content_block": start})
            events.extend({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas)
            events.append({"type": "content_block_stop", "index": index})
        delta = {"stop_reason": stop_reason, "stop_sequence": None}
        events.append({"type": "message_delta", "delta": delta, "usage": USAGE})
        events.append({"type": "message_stop"})
        out = [HEAD.format(status="200 OK", type="text/event-stream", framing="transfer-encoding: chunked").encode()]
        for event in events:
            data = b"event: %s\ndata: %s\n\n" % (event["type"].encode(), dump(event))
            # Placeholders are as long as what replaces them, so the chunk's length holds.
            out.append(b"%x\r\n%s\r\n" % (len(data), data))
        return b"".join([*out, b"0\r\n\r\n"])


def answer(status: str, body: bytes) -> bytes:
    head = HEAD.format(status=status, type="application/json", framing=f"content-length: {len(body)}")
    return head.encode() + body


def refusal(message: str) -> bytes:
    error = {"type": "invalid_request_error", "message": message}
    return answer("400 Bad Request", dump({"type": "error", "error": error, "request_id": "req_bench"}))


def fault(body: bytes) -> str | None:
    """What the API would refuse in this request: the order of messages, and calls without their one result."""
    request = json.loads(body)
    missing = {"model", "max_tokens", "messages"} - request.keys()
    if missing:
        return f"{', '.join(sorted(missing))}: Field required"
    continues = "thread" in request and request["thread"].get("type") == "continue"
    if not continues and [tool["name"] for tool in request.get("tools", ())] != [NAME]:
        return "tools: not the tool of this benchmark"
    waiting: set[str] | None = None if continues else set()
    for at, message in enumerate(request["messages"]):
        content = message["content"]
        blocks = content if isinstance(content, list) else []
        answered = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        if not content or (waiting is not None and sorted(waiting) != sorted(answered)):
            return f"messages.{at}: results for {answered}, calls were {sorted(waiting or ())}"
        waiting = {block["id"] for block in blocks if block["type"] == "tool_use"}
    return f"messages: no results for {sorted(waiting)}" if waiting else None


@functools.cache
def script(calls: int) -> Script:
    return Script(calls)


class Connection(asyncio.Protocol):
    """One client's connection: as little HTTP/1.1 as its requests need."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.received = bytearray()

    def data_received(self, data: bytes) -> None:
        self.received += data
        while (end := self.received.find(b"\r\n\r\n")) >= 0:
            head = bytes(self.received[:end])
            length = LENGTH.search(head)
            total = end + 4 + (int(length[1]) if length else 0)
            if len(self.received) < total:
                return
            body = bytes(self.received[end + 4 : total])
            del self.received[:total]
            self.transport.write(self.respond(head, body))

    def respond(self, head: bytes, body: bytes) -> bytes:
        path = PATH.match(head)
        if path is None:
            return answer("404 Not Found", dump({"type": "error", "error": {"type": "not_found_error", "message": ""}}))
        if path[3] and (message := fault(body)):
            return refusal(message)
        at = body.rfind(b'"tool_use_id"')
        last = LAST_CALL.search(body, at) if at >= 0 else None
        number = int(last[1]) + 1 if last else 0
        return script(int(path[2])).reply(number, last=number >= int(path[1]), stream=bool(STREAM.search(body)))


async def serve() -> None:
    server = await asyncio.get_running_loop().create_server(Connection, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    print(f"http://{host}:{port}", flush=True)
    await server.serve_forever()


def main() -> None:
    """The command line of the server."""
    parser = argparse.ArgumentParser(description="A scripted Messages API for the benchmarks.")
    parser.add_argument("--cpu", type=int, help="run on this processor only")
    arguments = parser.parse_args()
    if arguments.cpu is not None:
        os.sched_setaffinity(0, {arguments.cpu})
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve())


if __name__ == "__main__":
    main()
