"""Endpoints that speak the API in their own way, or badly: what comes of it for the one who asks."""

from __future__ import annotations

import asyncio
import base64
import json
import zlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import anthropic
import anyio
import httpx2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import turnkeeper as tk
from tests.driver.conftest import agent_over
from tests.wire.test_any_json import BODIES, EVENTS
from turnkeeper.client import chunks
from turnkeeper.driver import asking
from turnkeeper.journal import MemoryJournal
from turnkeeper.testing import FixedClock, MessagesAPI
from turnkeeper.updates import ReplyDiscarded, RetryScheduled, TextDelta, ThinkingDelta, Update
from turnkeeper.wire import sse

pytestmark = pytest.mark.anyio

EVENT_STREAM = {"content-type": "text/event-stream"}


def message(*content: Any, stop: str | None = "end_turn", **members: Any) -> dict[str, Any]:
    usage = {"input_tokens": 10, "output_tokens": 5}
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m"}
    return head | {"content": list(content), "stop_reason": stop, "usage": usage} | members


def events(*between: dict[str, Any], stop: str = "end_turn", **members: Any) -> list[dict[str, Any]]:
    return [
        {"type": "message_start", "message": message(stop=None, **members)},
        *between,
        {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 9}},
        {"type": "message_stop"},
    ]


def encoded(*data: Any) -> bytes:
    return b"".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n".encode() for one in data)


def begin(block: Any, **index: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "content_block": block} | index


def delta(change: Any, **index: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "delta": change} | index


def says(text: str) -> dict[str, Any]:
    return {"type": "text_delta", "text": text}


EMPTY = {"type": "text", "text": ""}
GOOD = encoded(*events(begin(EMPTY, index=0), delta(says("good"), index=0)))


class Endpoint:
    """Gives its answers one after the other; a body in bytes is a stream. `bodies` holds what it was asked."""

    def __init__(self, *answers: bytes | httpx2.Response | dict[str, Any]) -> None:
        self._answers = list(answers)
        self.bodies: list[dict[str, Any]] = []
        http = httpx2.AsyncClient(transport=httpx2.MockTransport(self._answer))
        self.client = anthropic.AsyncAnthropic(api_key="k", base_url="http://x.test", http_client=http)

    def _answer(self, request: httpx2.Request) -> httpx2.Response:
        self.bodies.append(json.loads(request.content))
        answer = self._answers.pop(0)
        if isinstance(answer, httpx2.Response):
            return answer
        if isinstance(answer, bytes):
            return httpx2.Response(200, content=answer, headers=EVENT_STREAM)
        return httpx2.Response(200, content=json.dumps(answer).encode())


async def told(agent: tk.Agent) -> list[Update]:
    async with agent.open(MemoryJournal()) as keeper:
        return [update async for update in (await keeper.conversation("c")).send("hi")]


NAN = float("nan")
CALL = {"type": "tool_use", "id": "t1", "name": "f", "input": {"x": NAN}}


@pytest.mark.parametrize(
    "answer",
    [
        encoded(*events(begin(EMPTY), delta(says("bad")), score=NAN)),
        encoded(*events(begin(CALL), stop="tool_use")),
        encoded(*events(begin(EMPTY), delta(says("bad") | {"logprob": float("-inf")}))),
        message({"type": "text", "text": "bad"}, score=NAN),
        message(CALL, stop="tool_use"),
    ],
)
async def test_numbers_that_json_has_not_make_a_malformed_reply_that_is_asked_for_again(answer: Any) -> None:
    stream = isinstance(answer, bytes)
    endpoint = Endpoint(answer, GOOD if stream else message({"type": "text", "text": "good"}))
    journal = MemoryJournal()
    async with agent_over(endpoint.client, stream=stream).open(journal) as keeper:
        found = await (await keeper.conversation("c")).send("hi")
    assert (found.text, len(endpoint.bodies)) == ("good", 2)
    failed = [event for event in await journal.read("c") if event.type == "request_failed"]
    assert [(event.kind, event.delay) for event in failed] == [("malformed_reply", 0.5)]  # type: ignore[attr-defined]
    async with agent_over(Endpoint(GOOD).client).open(journal) as keeper:
        assert (await (await keeper.conversation("c")).send("again")).text == "good"


async def test_an_event_that_cannot_be_read_voids_what_was_told_and_its_tokens_are_counted() -> None:
    bad = encoded(*events(begin(EMPTY, index=0), delta(says("half "), index=0), delta(says("lost"), index=[])))
    endpoint = Endpoint(bad, GOOD)
    async with agent_over(endpoint.client).open(MemoryJournal()) as keeper:
        turn = (await keeper.conversation("c")).send("hi")
        updates = [update async for update in turn]
    kinds = (TextDelta, ReplyDiscarded, RetryScheduled)
    assert [update for update in updates if isinstance(update, kinds)] == [
        TextDelta(text="half "),
        ReplyDiscarded(reason="malformed_reply"),
        RetryScheduled(reason="malformed_reply", delay=0.5, attempt=2),
        TextDelta(text="good"),
    ]
    assert turn.reply is not None
    assert (turn.reply.text, turn.reply.usage.input_tokens, turn.reply.usage.output_tokens) == ("good", 20, 14)


async def test_calls_without_an_index_and_with_ids_that_are_no_text_are_all_run_and_answered() -> None:
    ids: list[Any] = ["t1", {}, 7, "t1"]
    calls = [begin({"type": "tool_use", "id": one, "name": "f", "input": {}}) for one in ids]
    pieces = [delta({"type": "input_json_delta", "partial_json": f'{{"n":{n}}}'}) for n in range(4)]
    interleaved = [event for pair in zip(calls, pieces, strict=True) for event in pair]
    endpoint = Endpoint(encoded(*events(*interleaved, stop="tool_use")), GOOD)
    ran: list[int] = []

    def f(n: int) -> str:
        """Note it."""
        ran.append(n)
        return f"did {n}"

    found = await agent_over(endpoint.client, tools=[f]).run("hi")
    assert (found.text, sorted(ran)) == ("good", [0, 1, 2, 3])
    sent_calls, results = (one["content"] for one in endpoint.bodies[1]["messages"][1:])
    assert [one["input"]["n"] for one in sent_calls] == [0, 1, 2, 3]
    assert [one["tool_use_id"] for one in results] == [one["id"] for one in sent_calls]
    assert len({one["id"] for one in sent_calls}) == 4


async def test_an_input_nested_beyond_reason_is_asked_for_again() -> None:
    deep = delta({"type": "input_json_delta", "partial_json": '{"a":' + "[" * 5_000 + "]" * 5_000 + "}"})
    call = begin({"type": "tool_use", "id": "t", "name": "f", "input": {}})
    endpoint = Endpoint(encoded(*events(call, deep, stop="tool_use")), GOOD)
    assert (await agent_over(endpoint.client).run("hi")).text == "good"


class Anything(Endpoint):
    """Gives its answers, and then good ones for ever."""

    def _answer(self, request: httpx2.Request) -> httpx2.Response:
        stream = json.loads(request.content).get("stream", False)
        self._answers = self._answers or [GOOD if stream else message({"type": "text", "text": "good"})]
        return super()._answer(request)


async def two_turns(endpoint: Endpoint, *, stream: bool) -> None:
    async with agent_over(endpoint.client, tools=[noted], stream=stream, limits=tk.Limits(requests=8)).open() as keeper:
        conversation = await keeper.conversation("c")
        for words in ("hi", "and again"):
            with suppress(tk.APIError):
                async for update in conversation.send(words):
                    json.dumps(update.to_json(), ensure_ascii=False).encode()
        json.dumps(conversation.messages, ensure_ascii=False).encode()


def noted(n: int = 0) -> str:
    """Note it."""
    return str(n)


def whole_stream(between: list[dict[str, Any]]) -> bytes:
    return b"".join(f"data: {json.dumps(one)}\n\n".encode() for one in [*between, {"type": "message_stop"}])


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(EVENTS, max_size=6).map(whole_stream) | BODIES)
def test_whatever_an_endpoint_answers_the_conversation_goes_on(answer: Any) -> None:
    anyio.run(lambda: two_turns(Anything(answer), stream=isinstance(answer, bytes)))


@pytest.mark.parametrize("usage", [[], "many", {"input_tokens": "12", "cache_creation": [1]}, {"iterations": {"a": 1}}])
async def test_usage_of_any_shape_ends_no_turn(usage: Any) -> None:
    endpoint = Endpoint(encoded(*events(begin(EMPTY), delta(says("good")), usage=usage)))
    found = await agent_over(endpoint.client).run("hi")
    assert (found.text, found.usage.input_tokens) == ("good", 0)


@pytest.mark.parametrize("kind", ["text", "thinking"])
async def test_every_delta_can_be_written_as_utf_8_also_where_an_emoji_is_split(kind: str) -> None:
    def half(text: str, index: int = 0) -> dict[str, Any]:
        return delta({"type": f"{kind}_delta", kind: text}, index=index)

    parts = [
        begin({"type": kind, kind: ""}, index=0),
        half("a\ud83d"),
        {"type": "ping"},
        half("\ude00b\ud83d"),
        half(""),
        half("\ude00"),
        half("\udc81c\ud83d"),
        {"type": "content_block_stop", "index": 0},
        begin({"type": kind, kind: ""}, index=1),
        half("\ude00d", index=1),
        begin(EMPTY, index=2),
        delta(says("good"), index=2),
    ]
    updates = await told(agent_over(Endpoint(encoded(*events(*parts))).client))
    wanted = TextDelta if kind == "text" else ThinkingDelta
    shown = [update.text for update in updates if isinstance(update, wanted) and update.text != "good"]
    assert shown == ["a", "😀b", "😀", "\ufffdc", "\ufffd", "\ufffdd"]
    json.dumps([update.to_json() for update in updates], ensure_ascii=False).encode()


@pytest.mark.parametrize(
    ("status", "kind"),
    [(503, "unavailable_error"), (500, "InternalServerError"), (429, "throttling_error"), (409, "conflict_error")],
)
async def test_failures_of_other_endpoints_are_tried_again(status: int, kind: str) -> None:
    refusal = httpx2.Response(status, json={"error": {"type": kind, "message": "Loading model"}})
    endpoint = Endpoint(refusal, GOOD)
    updates = await told(agent_over(endpoint.client))
    assert [update.reason for update in updates if isinstance(update, RetryScheduled)] == [kind]
    assert len(endpoint.bodies) == 2


async def test_a_time_out_inside_the_client_is_no_limit_of_the_turn() -> None:
    class Slow(anthropic.AsyncAnthropic):
        async def post(self, *args: Any, **options: Any) -> Any:
            raise TimeoutError("the token service timed out")

    clock = FixedClock()
    with pytest.raises(tk.APIError) as raised:
        await agent_over(Slow(api_key="k"), clock=clock).run("hi")
    assert (raised.value.kind, clock.slept) == ("timeout_error", (0.5, 1.0, 2.0, 4.0))


# ----- Bedrock -------------------------------------------------------------------------------------------------------


def framed(data: Any) -> bytes:
    payload = json.dumps({"bytes": base64.b64encode(json.dumps(data).encode()).decode()}).encode()
    head = b"\x0b:event-type\x07\x00\x05chunk\x0d:message-type\x07\x00\x05event"
    prelude = (16 + len(head) + len(payload)).to_bytes(4) + len(head).to_bytes(4)
    whole = prelude + zlib.crc32(prelude).to_bytes(4) + head + payload
    return whole + zlib.crc32(whole).to_bytes(4)


async def test_a_stream_of_bedrock_is_read_out_of_its_frames() -> None:
    asked: list[str] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(request.url.path)
        reply = events(begin(EMPTY, index=0), delta(says("Привет"), index=0))
        return httpx2.Response(
            200,
            content=b"".join(framed(one) for one in reply),
            headers={"content-type": "application/vnd.amazon.eventstream"},
        )

    class Mine(anthropic.AsyncAnthropicBedrock):
        pass

    http = httpx2.AsyncClient(transport=httpx2.MockTransport(answer))
    agent = agent_over(Mine(api_key="k", aws_region="us-east-1", http_client=http), model="us.anthropic.claude-x")
    assert [update.text for update in await told(agent) if isinstance(update, TextDelta)] == ["Привет"]
    assert asked == ["/model/us.anthropic.claude-x/invoke-with-response-stream"]


# ----- the end of a body ---------------------------------------------------------------------------------------------


@asynccontextmanager
async def counting_connections(url: str) -> AsyncIterator[tuple[str, list[int]]]:
    """A TCP relay in front of a server; gives its URL and a list with one entry for each connection taken."""
    host, port = url.removeprefix("http://").split(":")
    taken: list[int] = []

    async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while data := await reader.read(65_536):
                writer.write(data)
                await writer.drain()
        writer.close()

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        taken.append(len(taken))
        there, back = await asyncio.open_connection(host, int(port))
        await asyncio.gather(pass_on(reader, back), pass_on(there, writer))

    server = await asyncio.start_server(relay, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", taken


@pytest.mark.parametrize("stream", [True, False])
async def test_requests_of_one_keeper_share_a_connection(stream: bool) -> None:
    api = MessagesAPI(lambda request: "ok")
    with api.listen() as url:
        async with counting_connections(url) as (relay, taken):
            agent = tk.Agent(model="claude-opus-4-8", base_url=relay, api_key="k", stream=stream)
            async with agent.open() as keeper:
                conversation = await keeper.conversation("c")
                for _ in range(6):
                    assert (await conversation.send("hi")).text == "ok"
    assert (len(api.requests), len(taken)) == (6, 1)


class Body(httpx2.AsyncByteStream):
    """A whole stream, and then what `rest` gives; `read` counts the pieces of it that were read."""

    def __init__(self, rest: Callable[[], AsyncIterator[bytes]]) -> None:
        self._rest = rest
        self.read = 0
        self.closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield GOOD
        async for piece in self._rest():
            self.read += 1
            yield piece

    async def aclose(self) -> None:
        self.closed = True


async def endless() -> AsyncIterator[bytes]:
    while True:
        yield b": more\n\n" * 1_024


async def silent() -> AsyncIterator[bytes]:
    await asyncio.Event().wait()
    yield b""


async def broken() -> AsyncIterator[bytes]:
    for piece in (b"", b": "):
        if piece:
            raise httpx2.ReadError("reset")
        yield piece


@pytest.mark.parametrize(("rest", "pieces"), [(endless, 9), (silent, 0), (broken, 1)])
async def test_a_body_that_does_not_end_with_its_reply_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, rest: Callable[[], AsyncIterator[bytes]], pieces: int
) -> None:
    monkeypatch.setattr(asking, "_REST_SECONDS", 30 if rest is endless else 0.01)
    body = Body(rest)
    endpoint = Endpoint(httpx2.Response(200, stream=body, headers=EVENT_STREAM))
    assert (await agent_over(endpoint.client).run("hi")).text == "good"
    assert (body.read, body.closed) == (pieces, True)


@pytest.mark.parametrize(
    "answer", [b"data: " + b"x" * 2_000, b'{"content":"' + b"x" * 2_000, b'\xef\xbb\xbf\n {"content":"' + b"x" * 2_000]
)
async def test_an_answer_without_measure_is_given_up(monkeypatch: pytest.MonkeyPatch, answer: bytes) -> None:
    monkeypatch.setattr(sse, "LARGEST_EVENT", 1_000)
    monkeypatch.setattr(chunks, "LARGEST_REPLY", 1_000)
    updates = await told(agent_over(Endpoint(answer, GOOD).client))
    assert [update.reason for update in updates if isinstance(update, RetryScheduled)] == ["malformed_reply"]


@pytest.mark.parametrize("before", [b"", b"\n\n", b"\xef\xbb\xbf", b"\xef\xbb\xbf\r\n"])
@pytest.mark.parametrize("body", [GOOD, json.dumps(message({"type": "text", "text": "good"})).encode()])
async def test_blanks_and_a_byte_order_mark_before_a_body_are_passed_over(before: bytes, body: bytes) -> None:
    assert (await agent_over(Endpoint(before + body).client).run("hi")).text == "good"
