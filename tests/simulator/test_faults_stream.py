"""Replies spoiled on their way: cut, garbled, incomplete, and what the SDK makes of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import anthropic
import httpx2
import pytest

from tests.simulator.asking import ask, events, parse_events
from turnkeeper.testing import MessagesAPI, call, faults, reply

REQUEST: Any = {
    "model": "claude-opus-5-5",
    "max_tokens": 64,
    "messages": [{"role": "user", "content": "Склад?"}],
}
REPLY = reply("Ich sehe nach.", call("lookup", {"artikel": "щётка", "anzahl": 3}))


def sync_stream(api: MessagesAPI) -> Any:
    with api.sync_client().messages.stream(**REQUEST) as stream:
        return stream.get_final_message()


def async_stream(api: MessagesAPI) -> Any:
    async def go() -> Any:
        async with api.client() as client, client.messages.stream(**REQUEST) as stream:
            return await stream.get_final_message()

    return asyncio.run(go())


@pytest.fixture(params=[sync_stream, async_stream])
def converse(request: pytest.FixtureRequest) -> Callable[..., Any]:
    way: Callable[..., Any] = request.param
    return way


def names(api: MessagesAPI) -> list[str]:
    return [name for name, _ in events(api)]


@pytest.mark.parametrize(
    "place",
    [{"after": 0}, {"after": 4}, {"inside": "tool_use"}, {"inside": 0}, {"before": "message_stop"}, {"bytes": 9}],
)
def test_a_dropped_connection_raises_in_the_middle(converse: Callable[..., Any], place: Any) -> None:
    api = MessagesAPI([faults.cut(REPLY, **place), "danach"])
    with pytest.raises(httpx2.RemoteProtocolError, match="without sending complete message body"):
        converse(api)
    assert (api.requests[0].status, api.requests[0].outcome) == (200, "cut")
    assert converse(api).content[0].text == "danach"


def test_a_stream_that_ends_inside_a_call_looks_like_a_call_without_arguments(converse: Callable[..., Any]) -> None:
    """The SDK raises nothing: its message has no stop reason, and the partial input is lost."""
    entry = reply("Ich sehe nach.", call("lookup", raw_input='{"artikel": "щётка", "anzahl": 3}'))
    message = converse(MessagesAPI([faults.cut(entry, inside="tool_use", clean=True)]))
    assert message.stop_reason is None
    assert (message.content[1].type, message.content[1].input) == ("tool_use", {})


def test_a_stream_that_ends_before_message_stop_looks_whole(converse: Callable[..., Any]) -> None:
    message = converse(MessagesAPI([faults.cut(REPLY, before="message_stop", clean=True)]))
    assert message.stop_reason == "tool_use"
    assert message.content[1].input == {"artikel": "щётка", "anzahl": 3}


def test_where_a_cut_strikes() -> None:
    def cut(**place: Any) -> list[str]:
        return names(MessagesAPI([faults.cut(REPLY, clean=True, **place)]))

    start = ["message_start", "content_block_start", "ping", *["content_block_delta"] * 3, "content_block_stop"]
    calls = ["content_block_start", *["content_block_delta"] * 4, "content_block_stop", "message_delta"]
    assert cut(after=0) == []
    assert cut(after=2) == start[:2]
    assert cut(after=99) == [*start, *calls, "message_stop"]
    assert cut(inside="text") == start[:5]
    assert cut(inside="tool_use") == [*start, *calls[:3]]
    assert cut(inside=1) == [*start, *calls[:3]]
    assert cut(before="message_delta") == [*start, *calls[:-1]]
    assert cut(before="message_stop") == [*start, *calls]


def test_a_cut_after_bytes_may_split_a_character() -> None:
    whole = ask(MessagesAPI([REPLY]), stream=True).raw
    at = whole.index("щ".encode()) + 1
    raw = ask(MessagesAPI([faults.cut(REPLY, bytes=at, clean=True)]), stream=True).raw
    assert raw == whole[:at]
    with pytest.raises(UnicodeDecodeError):
        raw.decode()


def test_a_cut_at_a_place_that_the_reply_does_not_have_fails_loudly() -> None:
    api = MessagesAPI([faults.cut("text", inside="tool_use"), faults.cut("text", before="content_block_pause")])
    assert ask(api, stream=True).json["error"]["message"].endswith("cut: the reply has no block 'tool_use'")
    assert ask(api, stream=True).json["error"]["message"].endswith("cut: the stream has no event 'content_block_pause'")


def test_a_reply_that_is_not_streamed_is_cut_in_its_json() -> None:
    api = MessagesAPI([faults.cut(REPLY, inside="tool_use"), faults.cut(REPLY, bytes=10, clean=True)])
    with pytest.raises(anthropic.APIConnectionError) as caught:
        api.sync_client().messages.create(**REQUEST)
    assert isinstance(caught.value.__cause__, httpx2.RemoteProtocolError)
    answer = ask(api)
    assert answer.raw == b'{"id":"msg'
    assert "content-length" not in answer.headers


@pytest.mark.parametrize("kind", ["overloaded_error", "api_error", "rate_limit_error", "invalid_request_error"])
def test_an_error_event_is_a_status_error_with_status_200(converse: Callable[..., Any], kind: str) -> None:
    """The SDK classifies by the response's status, which is 200; only `type` tells."""
    with pytest.raises(anthropic.APIStatusError) as caught:
        converse(MessagesAPI([faults.error_event(REPLY, type=kind, message="Überlastet", after=5)]))
    assert type(caught.value) is anthropic.APIStatusError
    assert (caught.value.status_code, caught.value.type) == (200, kind)


def test_an_error_event_ends_the_stream() -> None:
    found = events(MessagesAPI([faults.error_event(REPLY, after=2)]))
    assert [name for name, _ in found] == ["message_start", "content_block_start", "error"]
    assert found[-1][1] == {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}


def test_a_reply_that_is_not_streamed_becomes_the_http_error_instead() -> None:
    answer = ask(MessagesAPI([faults.error_event(REPLY)]))
    assert (answer.status, answer.json["error"]["type"]) == (529, "overloaded_error")


def test_a_data_line_that_is_not_json_is_a_value_error(converse: Callable[..., Any]) -> None:
    api = MessagesAPI([faults.invalid_json(REPLY, after=3)])
    with pytest.raises(ValueError, match="Unterminated string"):
        converse(api)
    assert api.requests[0].outcome == "abandoned"


def test_json_that_is_not_streamed_can_be_invalid_too() -> None:
    answer = ask(MessagesAPI([faults.invalid_json(REPLY)]))
    with pytest.raises(ValueError, match="Expecting"):
        assert answer.json
    assert answer.status == 200


def test_unknown_events_and_done_lines_change_nothing_for_the_sdk(converse: Callable[..., Any]) -> None:
    spoiled = faults.done_line(faults.unknown_event(REPLY, "weather_report", {"type": "weather_report", "°C": 3}))
    message = converse(MessagesAPI([spoiled]))
    assert (message.stop_reason, len(message.content)) == ("tool_use", 2)


def test_unknown_events_stand_where_they_were_put() -> None:
    found = events(MessagesAPI([faults.unknown_event("x", after=2)]))
    assert [name for name, _ in found][:4] == ["message_start", "content_block_start", "future_event", "ping"]


def test_a_done_line_is_the_last() -> None:
    assert ask(MessagesAPI([faults.done_line("x")]), stream=True).raw.endswith(
        b'event: message_stop\ndata: {"type":"message_stop"}\n\ndata: [DONE]\n\n'
    )


@pytest.mark.parametrize("event", ["message_stop", "message_delta", "message_start", "content_block_stop", "ping"])
def test_any_event_can_be_left_out(event: str) -> None:
    whole = names(MessagesAPI([REPLY]))
    assert names(MessagesAPI([faults.omit(REPLY, event)])) == [name for name in whole if name != event]


def test_usage_can_be_left_out() -> None:
    api = MessagesAPI([faults.omit(REPLY, "usage")] * 2)
    assert "usage" not in ask(api).json
    found = parse_events(ask(api, stream=True).raw)
    assert "usage" not in found[0][1]["message"]
    assert "usage" not in found[-2][1]


def test_calls_can_share_one_id(converse: Callable[..., Any]) -> None:
    entry = faults.duplicate_ids(reply("vorab", call("a"), call("b"), call("b")))
    api = MessagesAPI([entry, entry])
    assert [block.id for block in converse(api).content[1:]] == ["toolu_000001"] * 3
    assert [block["id"] for block in ask(api).json["content"][1:]] == ["toolu_000004"] * 3


def test_a_scheduled_fault_spoils_the_reply_and_keeps_it_for_the_next_request() -> None:
    api = MessagesAPI("noch einmal", faults={1: faults.cut(after=2, clean=True)})
    assert names(api) == ["message_start", "content_block_start"]
    assert names(api)[-1] == "message_stop"
    assert api.unused_replies == 0


def test_a_client_that_goes_away_is_noted() -> None:
    api = MessagesAPI("eins zwei drei")
    with api.sync_client().messages.stream(**REQUEST) as stream:
        for event in stream:
            assert event.type == "message_start"
            break
    assert api.requests[0].outcome == "abandoned"
