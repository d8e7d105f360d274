"""Requests as rows of positions, and the token estimate."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.simulator.asking import REQUEST, ask
from turnkeeper.simulator.prompt import count_tokens, estimate_output, estimate_text, positions
from turnkeeper.testing import MessagesAPI

TOOL = {"name": "f", "input_schema": {"type": "object"}}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1"}
MARK = {"type": "ephemeral"}


def digests(**fields: Any) -> list[str]:
    return [position.digest for position in positions({**REQUEST, **fields})]


def user(*content: Any) -> list[Any]:
    return [{"role": "user", "content": list(content)}]


def test_the_row_is_tools_then_system_then_messages() -> None:
    row = positions({**REQUEST, "tools": [TOOL, TOOL], "system": "Sei kurz."})
    assert [position.segment for position in row] == ["tools", "tools", "system", "messages"]


def test_four_bytes_are_a_token() -> None:
    assert [estimate_text(text) for text in ("", "a", "abcd", "abcde", "щ", "你好", "👋", "\ud83d")] == [
        0,
        1,
        1,
        2,
        1,
        2,
        1,
        1,
    ]


def test_count_tokens_answers_with_the_same_estimate() -> None:
    api = MessagesAPI("x")
    counted = ask(api, path="/v1/messages/count_tokens", max_tokens=1024)
    body = {key: value for key, value in REQUEST.items() if key != "max_tokens"}
    if counted.status == 400:  # count_tokens takes no max_tokens
        client = api.sync_client()
        assert client.messages.count_tokens(**body).input_tokens == 7
    assert ask(api).json["usage"]["input_tokens"] == 7


def test_a_tool_counts_its_definition_and_an_image_a_fixed_number() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * 4000}}
    assert count_tokens({"tools": [TOOL]}) == 12
    assert count_tokens({"messages": user(image)}) == 1568
    assert count_tokens({"messages": user({**RESULT, "content": [image, {"type": "text", "text": "abcd"}]})}) == 1569


def test_an_empty_request_counts_one() -> None:
    assert count_tokens({}) == 1


def test_output_counts_text_calls_and_thinking_apart() -> None:
    content = [
        {"type": "thinking", "thinking": "a" * 40, "signature": "s" * 400},
        {"type": "text", "text": "b" * 20},
        {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"a": 1}},
    ]
    assert estimate_output(content) == (10 + 5 + 3, 10)
    assert estimate_output([]) == (2, 0)
    assert estimate_output(None) == (2, 0)


def test_a_string_and_its_one_text_block_are_the_same_prompt() -> None:
    as_string = digests(system="s", messages=[{"role": "user", "content": "m"}])
    blocks = {"system": [{"type": "text", "text": "s"}], "messages": user({"type": "text", "text": "m"})}
    assert digests(**blocks) == as_string


def test_marks_are_no_part_of_the_prompt() -> None:
    bare = digests(tools=[TOOL], messages=user({**RESULT, "content": [{"type": "text", "text": "m"}]}))
    marked = digests(
        tools=[{**TOOL, "cache_control": MARK}],
        messages=user({**RESULT, "content": [{"type": "text", "text": "m", "cache_control": MARK}]}),
    )
    assert marked == bare


def test_the_order_of_keys_is_part_of_the_prompt() -> None:
    call = {"type": "tool_use", "id": "toolu_1", "name": "f"}
    one = digests(messages=[{"role": "assistant", "content": [{**call, "input": {"a": 1, "b": 2}}]}])
    two = digests(messages=[{"role": "assistant", "content": [{**call, "input": {"b": 2, "a": 1}}]}])
    assert one != two


def test_what_invalidates_which_part() -> None:
    fields: dict[str, Any] = {"tools": [TOOL], "system": "s"}
    base = digests(**fields)

    def kept(**changed: Any) -> int:
        """How many positions from the left stay the same."""
        return sum(a == b for a, b in zip(base, digests(**{**fields, **changed}), strict=False))

    assert kept(model="claude-opus-5") == 0
    assert kept(tools=[{**TOOL, "description": "neu"}]) == 0
    assert kept(speed="fast") == 1
    assert kept(system="anders") == 1
    assert kept(tool_choice={"type": "none"}) == 2
    assert kept(tool_choice={"type": "auto", "disable_parallel_tool_use": True}) == 2
    assert kept(thinking={"type": "adaptive", "display": "summarized"}) == 2
    assert kept(output_config={"effort": "low"}) == 2
    image = {"type": "image", "source": {"type": "url", "url": "https://example.com/x.png"}}
    assert kept(messages=[*REQUEST["messages"], *user(image)]) == 2


def test_stating_a_default_changes_nothing() -> None:
    base = digests(tools=[TOOL])
    assert digests(tools=[TOOL], tool_choice={"type": "auto"}) == base
    assert digests(tools=[TOOL], thinking={"type": "adaptive"}) == base
    assert digests(tools=[TOOL], output_config={"effort": "medium"}) == base  # Opus 5.5's default
    assert digests(tools=[TOOL], max_tokens=7, metadata={"user_id": "u"}, stream=True) == base


def test_deferred_tools_are_left_out() -> None:
    assert digests(tools=[TOOL, {**TOOL, "name": "g", "defer_loading": True}]) == digests(tools=[TOOL])


def test_each_block_of_a_result_is_a_position() -> None:
    texts = [{"type": "text", "text": word} for word in ("eins", "zwei", "drei")]
    assert len(positions({"messages": user({**RESULT, "content": texts})})) == 3
    assert len(positions({"messages": user({**RESULT, "content": "eins"}, RESULT)})) == 2


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "text", "content", "role", "cache_control", "ttl", "id", "input", "source"]),
            inner | st.sampled_from(["tool_result", "text", "image", "document", "thinking", "tool_use", "1h"]),
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(["model", "tools", "system", "messages", "tool_choice", "thinking"]), JUNK))
def test_any_json_can_be_read_and_counted(request: dict[str, Any]) -> None:
    row = positions(request)
    assert count_tokens(request) == max(1, sum(position.tokens for position in row))
    assert [position.digest for position in positions(request)] == [position.digest for position in row]
