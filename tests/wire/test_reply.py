"""Whole bodies, kept to the letter."""

from __future__ import annotations

import pytest

from turnkeeper.wire.received import MalformedReplyError
from turnkeeper.wire.reply import read_reply


def test_blocks_of_a_body_are_kept_to_the_letter() -> None:
    body = '{"id":"msg_1","content":[ {"type":"new_kind","b":1.0e5 ,"a":"é"} ],"stop_reason":"end_turn","x":[1]}'
    reply = read_reply(body.encode(), request_id="req_1")
    assert reply.blocks == ('{"type":"new_kind","b":1.0e5 ,"a":"é"}',)
    assert reply.stop_reason == "end_turn"
    assert reply.fields == {"id": "msg_1", "x": [1]}
    assert reply.request_id == "req_1"
    assert reply.usage == {}


@pytest.mark.parametrize(
    ("content", "blocks"),
    [("null", ()), ('""', ()), ("[]", ()), ('"hi"', ('{"type":"text","text":"hi"}',))],
)
def test_content_that_is_no_list_is_read_as_compatible_endpoints_mean_it(content: str, blocks: tuple[str, ...]) -> None:
    assert read_reply(f'{{"content":{content}}}'.encode()).blocks == blocks


@pytest.mark.parametrize(
    ("given", "kept", "invalid"),
    [
        ("null", {}, None),
        ('""', {}, None),
        ('"{\\"a\\": 1}"', {"a": 1}, None),
        ('"{\\"a\\":"', {"INVALID_JSON": '{"a":'}, '{"a":'),
        ("[1]", {"INVALID_JSON": "[1]"}, "[1]"),
    ],
)
def test_an_input_that_is_no_object_is_mended_or_marked(given: str, kept: object, invalid: str | None) -> None:
    body = f'{{"content":[{{"type":"tool_use","id":"t","name":"f","input":{given}}}]}}'
    reply = read_reply(body.encode())
    assert reply.parsed()[0]["input"] == kept
    assert reply.invalid_inputs.get(0) == invalid


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"", "not a JSON object"),
        (b"<html>", "not a JSON object"),
        (b"[]", "not a JSON object"),
        (b'{"type":"error"}', "no content"),
        (b'{"content":5}', "not a list"),
        (b'{"content":[5]}', "content.0 is not an object"),
        (b'{"content":[{}]}', "content.0 has no type"),
        (b'{"content":[{"type":5}]}', "content.0 has no type"),
        (b'{"content":[{"type":"text","text":["a"]}]}', "the text of content.0 is not text"),
        (b'{"content":[{"type":"thinking","thinking":"","signature":{}}]}', "the signature of content.0"),
        (b'{"content":[{"type":"tool_use","id":"t","name":null,"input":{}}]}', "the name of content.0"),
        (b'{"content":[{"type":"tool_use","id":"t","name":"f","input":{"x":NaN}}]}', "NaN is not JSON"),
        (b'{"content":[],"score":-Infinity}', "-Infinity is not JSON"),
        (b'{"content":[],"score":1e999}', "too large"),
        (b'{"content":[],"stop_reason":"refusal","stop_reason":"tool_use"}', "the member 'stop_reason' is there twice"),
        (b'{"content":[],"score":' + b"9" * 5_000 + b"}", "Exceeds the limit"),
        (b'{"content":[],"x":' + b"[" * 5_000 + b"]" * 5_000 + b"}", "nested too deeply"),
        (b'{"content":[],"x":' + b"[" * 101 + b"]" * 101 + b"}", "nested too deeply"),
        (b'{"content":[{"type":"x","y":' + b"[" * 101 + b"]" * 101 + b"}]}", "nested too deeply"),
        (
            b'{"content":[{"type":"tool_use","id":"t","name":"f","input":"' + b"[" * 200 + b"]" * 200 + b'"}]}',
            "the input of content.0 is nested too deeply",
        ),
    ],
)
def test_a_body_that_is_no_message_is_refused(body: bytes, says: str) -> None:
    with pytest.raises(MalformedReplyError, match=says):
        read_reply(body)


@pytest.mark.parametrize("given", ["{}", "[1]", "7", "null", "true"])
@pytest.mark.parametrize("kind", ["tool_use", "server_tool_use"])
def test_a_call_id_that_is_not_text_counts_as_empty(kind: str, given: str) -> None:
    reply = read_reply(f'{{"content":[{{"type":"{kind}","id":{given},"name":"f","input":{{}}}}]}}'.encode())
    assert reply.parsed()[0]["id"] == ""
    without = read_reply(f'{{"content":[{{"type":"{kind}","name":"f","input":{{}}}}]}}'.encode())
    assert without.parsed()[0]["id"] == ""


def test_members_of_other_types_than_they_should_be_are_read_as_absent() -> None:
    reply = read_reply(b'{"content":[],"stop_reason":{},"usage":[1],"id":5}')
    assert (reply.stop_reason, reply.usage, reply.fields) == (None, {}, {"id": 5})
    assert read_reply(b'{"content":[],"stop_reason":"\\ud83d"}').stop_reason == "\ufffd"


def test_a_byte_order_mark_before_the_body_is_passed_over() -> None:
    assert read_reply(b'\xef\xbb\xbf{"content":"hi"}').blocks == ('{"type":"text","text":"hi"}',)
