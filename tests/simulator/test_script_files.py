"""Script files: the same shapes as JSON, and errors that name file and place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.simulator.asking import ask, events
from turnkeeper.errors import InputError
from turnkeeper.simulator import read_script
from turnkeeper.testing import MessagesAPI


def write(folder: Path, value: Any) -> Path:
    path = folder / "сценарий.json"
    path.write_text(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), encoding="utf-8")
    return path


def test_a_file_holds_what_python_scripts_hold(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        [
            "Привет",
            {"content": [{"type": "tool_use", "name": "f", "raw_input": '{"a'}], "stop_reason": "max_tokens"},
            {"fault": {"kind": "rate_limited", "retry_after": 2}},
            {"fault": {"kind": "cut", "after": 1, "clean": True}, "reply": "abgeschnitten"},
            {"fault": [{"kind": "omit"}, {"kind": "done_line"}], "reply": {"content": "zwei Fehler"}},
        ],
    )
    api = MessagesAPI(read_script(path))
    assert ask(api).json["content"] == [{"type": "text", "text": "Привет"}]
    assert ask(api).json["stop_reason"] == "max_tokens"
    limited = ask(api)
    assert (limited.status, limited.headers["retry-after"]) == (429, "2")
    assert [name for name, _ in events(api)] == ["message_start"]
    assert ask(api, stream=True).raw.endswith(b"data: [DONE]\n\n")
    assert api.unused_replies == 0


def test_a_file_may_say_what_follows_its_last_reply(tmp_path: Path) -> None:
    api = MessagesAPI(read_script(write(tmp_path, {"replies": ["一", "二"], "then": "last"})))
    assert [ask(api).json["content"][0]["text"] for _ in range(3)] == ["一", "二", "二"]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ('["a",]', ":1:6: is not JSON: "),
        ('\n{"replies": nope}', ":2:13: is not JSON: Expecting value"),
        ("5", ": expected a list of replies, or an object with 'replies'"),
        ({}, ": expected a list of replies, or an object with 'replies'"),
        ({"replys": []}, ": unknown field 'replys'; a script has 'replies' and 'then'"),
        ({"replies": ["a"], "then": "loop"}, ": then: 'loop' is none of refuse, repeat, last"),
        (["a", {"contents": []}], ": replies[1]: unknown field 'contents'; did you mean 'content'?"),
        ([{"fault": "overloaded"}], ": replies[0].fault: expected an object with a 'kind', found 'overloaded'"),
        ([{"fault": {"kind": "overload"}}], ": replies[0].fault.kind: unknown fault 'overload'; one of http_error, "),
        (
            [{"fault": {"kind": "overloaded", "after": 3}}],
            ": replies[0].fault: overloaded got an unexpected keyword argument 'after'",
        ),
        ([{"fault": {"kind": "cut"}, "reply": "a"}], ": replies[0].fault: a cut needs one place: after=N, "),
        (
            [{"fault": {"kind": "cut", "after": "3"}, "reply": "a"}],
            ": replies[0].fault: cut: after is a number from 0 up, not '3'",
        ),
        ([{"fault": {"kind": "cut", "after": 3}}], ": replies[0]: cut needs the reply that it spoils"),
        (
            [{"fault": {"kind": "rate_limited", "retry_after": "soon"}}],
            ": replies[0].fault: Unknown format code 'g' for object of type 'str'",
        ),
        (
            [{"fault": {"kind": "overloaded"}, "reply": "a"}],
            ": replies[0].fault: answers without a reply; leave 'reply' out",
        ),
        (
            [{"fault": {"kind": "omit"}, "content": "a"}],
            ": replies[0]: unknown field 'content' beside 'fault'; the reply goes under 'reply'",
        ),
        (
            [{"fault": [{"kind": "overloaded"}, {"kind": "overloaded"}]}],
            ": replies[0]: several faults need the 'reply' that they spoil",
        ),
        (
            [{"fault": {"kind": "error_event", "type": "tired_error"}, "reply": "a"}],
            ": replies[0].fault: 'tired_error' is no error type of the API; one of invalid_request_error, ",
        ),
        ([{"fault": {"kind": "http_error", "status": 200}}], ": replies[0].fault: status 200 is no error status"),
        (
            [{"fault": {"kind": "slow", "first": -1}, "reply": "a"}],
            ": replies[0].fault: slow: first is a number of seconds, not -1",
        ),
    ],
)
def test_a_mistake_in_a_file_is_named_with_file_and_place(tmp_path: Path, value: Any, said: str) -> None:
    path = write(tmp_path, value)
    with pytest.raises(InputError) as caught:
        read_script(path)
    assert str(caught.value).startswith(f"{path}{said}")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"нет\.json: can't be read: No such file or directory"):
        read_script(tmp_path / "нет.json")


def test_a_file_in_another_encoding_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "script.json"
    path.write_bytes('["Привет"]'.encode("cp1251"))
    with pytest.raises(InputError, match="is not UTF-8 text"):
        read_script(path)
