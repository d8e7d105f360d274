"""The prompt cache, in worked examples: 4-byte words make a token each, and Opus 5.5 caches from 512 tokens on."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from tests.simulator.asking import ask, events
from turnkeeper.testing import MessagesAPI, faults, reply, script

MARK = {"type": "ephemeral"}
HOUR = {"type": "ephemeral", "ttl": "1h"}
MODEL = "claude-opus-5"  # its minimum of 512 tokens is documented


def words(tokens: int, word: str = "wort") -> str:
    assert len(word.encode()) == 4
    return word * tokens


def block(tokens: int, mark: Any = None, word: str = "wort") -> dict[str, Any]:
    made: dict[str, Any] = {"type": "text", "text": words(tokens, word)}
    return {**made, "cache_control": mark} if mark else made


def user(*content: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(content)}


def assistant(*content: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(content)}


def counts(api: MessagesAPI, **fields: Any) -> tuple[int, int, int, int]:
    """(input, read, 5m write, 1h write)."""
    answer = ask(api, model=MODEL, **fields)
    assert answer.status == 200, answer.raw
    usage = answer.json["usage"]
    written = usage["cache_creation"]
    assert usage["cache_creation_input_tokens"] == sum(written.values())
    return (
        usage["input_tokens"],
        usage["cache_read_input_tokens"],
        written["ephemeral_5m_input_tokens"],
        written["ephemeral_1h_input_tokens"],
    )


@pytest.fixture
def api() -> MessagesAPI:
    return MessagesAPI(script("ok", then="last"))


def test_the_first_request_writes_and_the_second_reads(api: MessagesAPI) -> None:
    messages = [user(block(600, MARK), block(10))]
    assert counts(api, messages=messages) == (10, 0, 600, 0)
    assert counts(api, messages=messages) == (10, 600, 0, 0)


def test_without_a_mark_nothing_is_cached(api: MessagesAPI) -> None:
    messages = [user(block(600))]
    assert counts(api, messages=messages) == (600, 0, 0, 0)
    assert counts(api, messages=messages) == (600, 0, 0, 0)


def test_a_prefix_below_the_model_s_minimum_is_not_cached(api: MessagesAPI) -> None:
    assert counts(api, messages=[user(block(511, MARK))]) == (511, 0, 0, 0)
    assert counts(api, messages=[user(block(511, MARK))]) == (511, 0, 0, 0)
    assert counts(api, messages=[user(block(512, MARK))]) == (0, 0, 512, 0)


def test_a_growing_conversation_pays_only_for_what_is_new(api: MessagesAPI) -> None:
    system = [block(550, MARK, "syst")]
    first = [user(block(50, MARK))]
    assert counts(api, system=system, messages=first) == (0, 0, 600, 0)
    grown = [user(block(50)), assistant(block(20, word="antw")), user(block(30, MARK))]
    assert counts(api, system=system, messages=grown) == (0, 600, 50, 0)
    last = [*grown[:2], user(block(30)), assistant(block(5, word="antw")), user(block(7, MARK))]
    assert counts(api, system=system, messages=last) == (0, 650, 12, 0)


def test_the_order_is_tools_system_messages(api: MessagesAPI) -> None:
    tool = {"name": "f", "description": words(589), "input_schema": {"type": "object"}, "cache_control": MARK}
    bare = {key: value for key, value in tool.items() if key != "cache_control"}
    tokens = counts(api, tools=[tool])[2]
    assert counts(api, tools=[tool], system="neu") == (1 + 7, tokens, 0, 0)
    assert counts(api, tools=[{**tool, "description": words(589, "andr")}]) == (7, 0, tokens, 0)
    assert counts(api, tools=[bare], system=[block(10, MARK)]) == (7, tokens, 10, 0)


def test_a_change_before_the_mark_misses_and_one_after_it_hits(api: MessagesAPI) -> None:
    counts(api, system=[block(600, MARK)], messages=[user(block(9))])
    assert counts(api, system=[block(600, MARK)], messages=[user(block(9, word="neu!"))]) == (9, 600, 0, 0)
    assert counts(api, system=[block(600, MARK, "neu!")], messages=[user(block(9))]) == (9, 0, 600, 0)


def test_the_lookback_is_twenty_positions_with_the_mark_itself(api: MessagesAPI) -> None:
    counts(api, messages=[user(block(600, MARK))])
    near = [user(block(600), *(block(1, word=f"w{i:03}") for i in range(18)), block(1, MARK))]
    far = [user(block(600), *(block(1, word=f"w{i:03}") for i in range(19)), block(1, MARK, "ende"))]
    assert counts(api, messages=near) == (0, 600, 19, 0)
    fresh = MessagesAPI(script("ok", then="last"))
    counts(fresh, messages=[user(block(600, MARK))])
    assert counts(fresh, messages=far) == (0, 0, 620, 0)


def test_only_marked_places_are_written(api: MessagesAPI) -> None:
    counts(api, messages=[user(block(600), block(100, MARK))])
    assert counts(api, messages=[user(block(600, MARK), block(100, word="neu!"))]) == (100, 0, 600, 0)


def test_five_minutes_run_from_the_start_of_the_request_and_a_read_starts_them_again(api: MessagesAPI) -> None:
    messages = [user(block(600, MARK))]
    counts(api, messages=messages)
    api.clock.advance(299)
    assert counts(api, messages=messages) == (0, 600, 0, 0)
    api.clock.advance(299)
    assert counts(api, messages=messages) == (0, 600, 0, 0)
    api.clock.advance(300)
    assert counts(api, messages=messages) == (0, 0, 600, 0)


def test_an_hour_is_an_hour(api: MessagesAPI) -> None:
    messages = [user(block(600, HOUR))]
    assert counts(api, messages=messages) == (0, 0, 0, 600)
    api.clock.advance(3599)
    assert counts(api, messages=messages) == (0, 600, 0, 0)
    api.clock.advance(3600)
    assert counts(api, messages=messages) == (0, 0, 0, 600)


def test_both_lifetimes_in_one_request_are_billed_apart(api: MessagesAPI) -> None:
    system = [block(600, HOUR)]
    assert counts(api, system=system, messages=[user(block(100, MARK), block(5))]) == (5, 0, 100, 600)
    api.clock.advance(301)
    assert counts(api, system=system, messages=[user(block(100, MARK), block(5))]) == (5, 600, 100, 0)


def test_the_automatic_mark_stands_on_the_last_block_that_can_carry_it(api: MessagesAPI) -> None:
    assert counts(api, messages=[user(block(600))], cache_control=MARK) == (0, 0, 600, 0)
    grown = [user(block(600)), assistant(block(20)), user(block(30))]
    assert counts(api, messages=grown, cache_control=MARK) == (0, 600, 50, 0)


def test_marks_inside_tool_results_count(api: MessagesAPI) -> None:
    tools = [{"name": "f", "input_schema": {"type": "object"}}]
    call = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": [block(600, MARK), block(10)]}
    messages = [user(block(1)), assistant(call), user(result)]
    before = counts(api, messages=messages, tools=tools)
    assert (before[0], before[1]) == (10, 0)
    assert counts(api, messages=messages, tools=tools) == (10, before[2], 0, 0)


def test_another_model_has_a_cache_of_its_own(api: MessagesAPI) -> None:
    messages = [user(block(2000, MARK))]
    counts(api, messages=messages)
    usage = ask(api, model="claude-opus-4-8", messages=messages).json["usage"]
    assert usage["cache_read_input_tokens"] == 0


def test_an_entry_is_readable_when_the_writer_s_response_begins() -> None:
    api = MessagesAPI([faults.overloaded(), faults.slow("spät", first=100), "ok"])
    messages = [user(block(600, MARK))]
    assert ask(api, model=MODEL, messages=messages).status == 529
    assert counts(api, messages=messages) == (0, 0, 600, 0)
    api.clock.advance(199)  # 299 seconds after the writer's request began
    assert counts(api, messages=messages) == (0, 600, 0, 0)


@pytest.mark.anyio
async def test_a_request_beside_an_unanswered_one_does_not_read_what_that_will_write() -> None:
    asked, may_answer = anyio.Event(), anyio.Event()

    async def wait(seconds: float) -> None:
        asked.set()
        await may_answer.wait()

    api = MessagesAPI([faults.slow("langsam", first=1), "schnell"], sleep=wait)
    client = api.client()
    request: Any = {"model": MODEL, "max_tokens": 9, "messages": [user(block(600, MARK))]}
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: client.messages.create(**request))
        await asked.wait()
        beside = await client.messages.create(**request)
        may_answer.set()
    assert (beside.usage.cache_read_input_tokens, beside.usage.cache_creation_input_tokens) == (0, 600)


def test_streams_state_the_same_numbers() -> None:
    api = MessagesAPI(["a", "b"])
    messages = [user(block(600, MARK), block(3))]
    for read, written in ((0, 600), (600, 0)):
        found = events(api, model=MODEL, messages=messages)
        for usage in (found[0][1]["message"]["usage"], found[-2][1]["usage"]):
            assert usage["cache_read_input_tokens"] == read
            assert usage["cache_creation_input_tokens"] == written
            assert usage["input_tokens"] == 3


def test_a_warm_up_fills_the_cache() -> None:
    api = MessagesAPI("ok")
    system = [block(600, MARK)]
    assert counts(api, system=system, max_tokens=0) == (7, 0, 600, 0)
    assert counts(api, system=system) == (7, 600, 0, 0)


def test_scripted_usage_does_not_hide_the_cache() -> None:
    api = MessagesAPI([reply("a", usage={"input_tokens": 1, "output_tokens": 1}), "b"])
    messages = [user(block(600, MARK))]
    ask(api, model=MODEL, messages=messages)
    assert counts(api, messages=messages) == (0, 600, 0, 0)
