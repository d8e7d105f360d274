"""A caller's message list: what is refused, where, and how to mend it."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from turnkeeper.core.accepting import ACCEPTABLE
from turnkeeper.core.checking import check_ending, check_messages, check_user_content
from turnkeeper.errors import HistoryError

USER = {"role": "user", "content": "hi"}


def call(call_id: str = "a") -> dict[str, Any]:
    return {"role": "assistant", "content": [{"type": "tool_use", "id": call_id, "name": "f", "input": {}}]}


def results(*ids: str, before: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
    blocks = [{"type": "tool_result", "tool_use_id": one, "content": "x"} for one in ids]
    return {"role": "user", "content": [*before, *blocks]}


@pytest.mark.parametrize(
    ("messages", "path", "says"),
    [
        ([], "messages", "the list is empty"),
        ([5], "messages.0", "an object with role and content"),
        ([{"role": "bot", "content": "x"}], "messages.0", "must be user, assistant or system, not 'bot'"),
        ([{"role": "assistant", "content": "x"}], "messages.0", "first message must be the user's"),
        ([{"role": "user", "content": "  "}], "messages.0", "the text is empty"),
        ([{"role": "user", "content": []}], "messages.0", "non-empty list"),
        ([{"role": "user"}], "messages.0", "must be text or"),
        ([{"role": "user", "content": ["x"]}], "messages.0.content.0", '"type"'),
        ([{"role": "user", "content": [{"type": "text", "text": " "}]}], "messages.0.content.0", "leave the block out"),
        ([USER, call(), USER], "messages.2", "no tool_result for a; add one"),
        ([USER, call(), results("b")], "messages.2", "'b' has no tool_use in the message before it; remove it"),
        ([USER, call(), results("a", "a")], "messages.2", "two tool_result blocks; keep one"),
        ([USER, results("a")], "messages.1", "no tool_use in the message before"),
        (
            [USER, call(), results("a", before=({"type": "text", "text": "x"},))],
            "messages.2",
            "before all other blocks",
        ),
        ([USER, call(""), USER], "messages.1", "has no id"),
        ([USER, call(), results("a"), call()], "messages.3", "was used before"),
        ([{"role": "user", "content": call()["content"]}], "messages.0", "belong in assistant messages"),
    ],
)
def test_each_fault_is_named_with_its_place(messages: list[Any], path: str, says: str) -> None:
    with pytest.raises(HistoryError) as raised:
        check_messages(messages)
    assert raised.value.path == path
    assert says in str(raised.value)


def test_sound_lists_pass_also_with_open_calls_at_the_end() -> None:
    check_messages([USER])
    check_messages([USER, USER, call(), results("a"), {"role": "assistant", "content": "ok"}, USER])
    check_messages([USER, call()], accept=["calls"])


def test_the_checked_list_is_a_copy_in_plain_json() -> None:
    given = [{"role": "user", "content": ({"type": "text", "text": "чай"},)}]
    found = check_messages(given)
    assert found == [{"role": "user", "content": [{"type": "text", "text": "чай"}]}]
    assert found[0] is not given[0]


@pytest.mark.parametrize("content", ["", " \n\t", [], None, 5, [{"type": "text", "text": ""}], [{}], b"x", [b"x"]])
def test_a_blank_message_is_refused(content: Any) -> None:
    with pytest.raises(HistoryError):
        check_user_content(content)


RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "approved"}


@pytest.mark.parametrize(
    "block",
    [
        RESULT,
        call()["content"][0],
        {"type": "thinking", "thinking": "x", "signature": "y"},
        {"type": "redacted_thinking", "data": "x"},
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}},
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
        {"type": "tool_addition", "tools": []},
        {"type": "text ", "text": "x"},
    ],
    ids=lambda block: block["type"],
)
def test_a_users_message_can_not_bring_results_or_the_assistants_blocks(block: dict[str, Any]) -> None:
    with pytest.raises(HistoryError) as raised:
        check_user_content([{"type": "text", "text": "вот"}, block])
    assert raised.value.path == "message.content.1"
    assert f"can't hold a block of type {block['type']!r}; it holds text, image, " in str(raised.value)


def source(data: Any, media_type: Any = "image/png", kind: str = "image", how: str = "base64") -> dict[str, Any]:
    return {"type": kind, "source": {"type": how, "media_type": media_type, "data": data}}


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 8
WEBP = b"RIFF\0\0\0\0WEBPVP8 "


@pytest.mark.parametrize(
    "block",
    [
        {"type": "text", "text": "你好", "cache_control": {"type": "ephemeral"}},
        source(encoded(PNG)),
        source(encoded(b"\xff\xd8\xff\xe0"), "image/jpeg"),
        source(encoded(b"GIF89a.."), "image/gif"),
        source(encoded(WEBP), "image/webp"),
        {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}},
        {"type": "image", "source": {"type": "file", "file_id": "file_1"}},
        source(encoded(b"%PDF-1.7"), "application/pdf", "document"),
        source("слова", "text/plain", "document", "text"),
        {"type": "document", "source": {"type": "content", "content": [source(encoded(PNG))]}},
        {"type": "search_result", "source": "kb/1", "title": "t", "content": [{"type": "text", "text": "x"}]},
        {"type": "container_upload", "file_id": "file_1"},
    ],
    ids=str,
)
def test_what_a_user_may_send_passes_as_it_is(block: dict[str, Any]) -> None:
    assert check_user_content([block], accept=ACCEPTABLE) == [block]


INVALID = [
    (source("@@@"), "source.data", "is not base64"),
    (source(""), "source.data", "is not base64"),
    (source(7), "source.data", "is not base64"),
    (source(encoded(PNG)[:-1]), "source.data", "is not base64"),
    (source(encoded(PNG * 6)[:64] + "\n" + encoded(PNG * 6)[64:]), "source.data", "without line breaks"),
    (source("data:image/png;base64," + encoded(PNG)), "source.data", "without a data: prefix"),
    (source(encoded(b"<svg>"), "image/svg+xml"), "source.media_type", "no image of media type 'image/svg+xml' here"),
    (source(encoded(PNG), None), "source.media_type", "no image of media type None"),
    (source(encoded(PNG), ["image/png"]), "source.media_type", "only image/jpeg, image/png, image/gif, image/webp"),
    (source(encoded(PNG), "image/jpeg"), "source.data", "are of type image/png, not image/jpeg"),
    (source(encoded(b"hello!")), "source.data", "no image that the API reads"),
    (source(encoded(PNG + bytes(8_000_000))), "source.data", "more than 10 MB"),
    (source("слова", "text/plain", "document"), "source.media_type", "only application/pdf"),
    (source("...", "application/pdf", "document"), "source.data", "is not base64"),
    (source(encoded(b"PK\x03\x04"), "application/pdf", "document"), "source.data", "the bytes are no PDF"),
    (source("a,b", "text/csv", "document", "text"), "source.media_type", "only text/plain"),
    ({"type": "image", "url": "https://example.com"}, "source", 'has no "source" object'),
    ({"type": "text", "text": 5}, "text", "is a string, not 5"),
    (
        {"type": "document", "source": {"type": "content", "content": [source("@")]}},
        "source.content.0.source.data",
        "is not base64",
    ),
]


@pytest.mark.parametrize(("block", "place", "says"), INVALID, ids=[says for _, _, says in INVALID])
def test_an_image_or_document_that_the_api_would_refuse_for_ever_is_refused_at_once(
    block: dict[str, Any], place: str, says: str
) -> None:
    with pytest.raises(HistoryError) as raised:
        check_user_content([block])
    assert raised.value.path == f"message.content.0.{place}"
    assert says in str(raised.value)


def test_images_in_a_list_with_its_history_are_looked_at_too() -> None:
    bad = results("a")
    bad["content"][0]["content"] = [source("@")]
    with pytest.raises(HistoryError, match=r"messages\.2\.content\.0\.content\.0\.source\.data: is not base64"):
        check_messages([USER, call(), bad])


def test_every_block_of_the_api_may_stand_in_a_list_with_its_history() -> None:
    server = [
        {"type": "thinking", "thinking": "", "signature": "s"},
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "чай"}},
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
        {"type": "brand_new", "future": [1]},
        {"type": "text", "text": "ok"},
    ]
    messages = [USER, {"role": "assistant", "content": server}, USER]
    assert check_messages(messages) == messages


def assistant(*blocks: dict[str, Any]) -> list[dict[str, Any]]:
    return [USER, {"role": "assistant", "content": list(blocks)}]


PAUSED = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}


@pytest.mark.parametrize(
    "messages",
    [
        [USER],
        [USER, call()],
        assistant({"type": "text", "text": "x"}, PAUSED),
        assistant(PAUSED, {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}),
    ],
)
def test_a_model_without_prefill_goes_on_from_calls_and_paused_turns(messages: list[dict[str, Any]]) -> None:
    check_ending(messages, prefill=False, model="claude-opus-5-5")


def test_the_assistants_words_at_the_end_need_a_model_with_prefill() -> None:
    for messages in ([USER, {"role": "assistant", "content": "x"}], assistant(PAUSED, {"type": "text", "text": "x"})):
        check_ending(messages, prefill=True, model="claude-opus-4-5")
        with pytest.raises(HistoryError, match="claude-opus-5-5 doesn't continue them"):
            check_ending(messages, prefill=False, model="claude-opus-5-5")
