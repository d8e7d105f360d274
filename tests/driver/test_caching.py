"""Prompt caching, judged by the simulator's cache: what each request reads and writes, in exact numbers of tokens."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

import turnkeeper as tk
from tests.driver.conftest import agent_over, sent
from turnkeeper.errors import ConfigurationError
from turnkeeper.models import find
from turnkeeper.testing import FixedClock, MessagesAPI, call, reply, script

pytestmark = pytest.mark.anyio

SYSTEM = "You keep the stock list of a warehouse. " * 200
"""Long enough to be cached by itself: 2,000 tokens by the simulator's estimate."""


def look(shelf: int) -> str:
    """Count what is on a shelf.

    Args:
        shelf: Its number.
    """
    return f"Shelf {shelf}: 12 boxes of “bolts”, 大箱子 4, болты 🔩 " * 3


def stock_api(calls: int = 1, *, model_says: Any = None) -> MessagesAPI:
    """Each user message is answered by one round of calls, then by a text."""

    def answer(request: Any) -> Any:
        last = request["messages"][-1]["content"]
        if any(block["type"] == "tool_result" for block in last):
            return reply("Counted. " * 10)
        number = len(request["messages"])
        asked = [call("look", {"shelf": number * 100 + n}) for n in range(calls)]
        return reply(*([model_says] if model_says else []), *asked)

    return MessagesAPI(answer)


def marks_of(value: Any) -> list[dict[str, Any]]:
    if isinstance(value, list):
        return [mark for one in value for mark in marks_of(one)]
    if isinstance(value, dict):
        own = [value["cache_control"]] if isinstance(value.get("cache_control"), dict) else []
        return own + [mark for name, one in value.items() if name != "cache_control" for mark in marks_of(one)]
    return []


def bare(value: Any) -> Any:
    if isinstance(value, list):
        return [bare(one) for one in value]
    if isinstance(value, dict):
        return {name: bare(one) for name, one in value.items() if name != "cache_control"}
    return value


@pytest.mark.parametrize(("calls", "turns"), [(1, 50), (30, 8)])
async def test_each_request_of_a_long_conversation_reads_what_the_last_one_wrote(calls: int, turns: int) -> None:
    """Thirty calls and their results are more blocks than the cache looks back."""
    api = stock_api(calls)
    async with agent_over(api, system=SYSTEM, tools=[look], limits=tk.Limits(requests=None)).open() as keeper:
        conversation = await keeper.conversation("c")
        for turn in range(turns):
            await conversation.send(f"Question {turn}: what is there? " * 5)
    api.assert_all_accepted()
    assert len(api.requests) == turns * 2
    before = 0
    for record in api.requests:
        usage = record.usage
        assert usage.cache_read_input_tokens == before, record.number
        assert (usage.input_tokens, usage.cache_write_1h_input_tokens) == (0, 0)
        before = usage.cache_read_input_tokens + usage.cache_write_5m_input_tokens
        assert len(marks_of(record.body)) <= 4
    # all that was ever written was written once
    assert sum(record.usage.cache_write_5m_input_tokens for record in api.requests) == before


async def test_a_conversation_taken_up_by_another_process_reads_what_the_last_one_wrote(tmp_path: Any) -> None:
    api = stock_api()
    for number in range(3):
        async with agent_over(api, system=SYSTEM, tools=[look]).open(f"sqlite:///{tmp_path}/j.db") as keeper:
            await (await keeper.conversation("c")).send(f"Question {number}")
    used = [record.usage for record in api.requests]
    assert [one.cache_read_input_tokens for one in used[1:]] == [
        one.cache_read_input_tokens + one.cache_write_5m_input_tokens for one in used[:-1]
    ]


async def test_marks_stand_in_the_requests_only_and_move(tmp_path: Any) -> None:
    api = stock_api()
    async with agent_over(api, system=SYSTEM, tools=[look]).open(f"sqlite:///{tmp_path}/j.db") as keeper:
        conversation = await keeper.conversation("c")
        for _ in range(4):
            await conversation.send("And now?")
        assert not marks_of(conversation.messages)
        assert "cache_control" not in await keeper.journal.export("c")
    for earlier, later in itertools.pairwise(api.requests):
        assert earlier.body is not None
        assert later.body is not None
        assert bare(later.body)["messages"][: len(earlier.body["messages"])] == bare(earlier.body)["messages"]
        assert marks_of(later.body["messages"][-1]) == [{"type": "ephemeral"}]
    last = sent(api, 7)
    assert [len(marks_of(last[part])) for part in ("tools", "system", "messages")] == [1, 1, 2]


OWN = {"type": "ephemeral"}
HOUR = {"type": "ephemeral", "ttl": "1h"}


@pytest.mark.parametrize(
    "system",
    [
        SYSTEM,
        [
            {"type": "text", "text": SYSTEM, "cache_control": OWN},
            {"type": "text", "text": "Be brief.", "cache_control": OWN},
        ],
        [{"type": "text", "text": SYSTEM, "cache_control": HOUR}, {"type": "text", "text": "Be brief."}],
    ],
)
async def test_no_request_has_more_than_four_marks_and_the_callers_stay(system: Any) -> None:
    """Report A19-fifth-cache-breakpoint.

    https://github.com/BlockRunAI/Franklin/issues/73
    """

    def a() -> str:
        """A."""
        return "done"

    def b() -> str:
        """B."""
        return "done"

    rounds = [reply(call("a", id=f"toolu_{number}")) for number in range(1, 6)]
    api = MessagesAPI(script(*rounds, "ok", "ok again"))
    async with agent_over(api, system=system, tools=[a, b]).open() as keeper:
        conversation = await keeper.conversation("c")
        await conversation.send("go")
        await conversation.send("and again")
        assert not marks_of(conversation.messages)
    api.assert_all_accepted()
    assert len(api.requests) == 7
    for record in api.requests:
        assert record.body is not None
        assert len(marks_of(record.body)) <= 4
        if isinstance(system, list):
            assert [one.get("cache_control") for one in record.body["system"] if "cache_control" in one][
                : len(marks_of(system))
            ] == marks_of(system)
        assert marks_of(record.body["messages"][-1]) == [OWN]


async def test_a_callers_marks_in_every_message_do_not_pile_up() -> None:
    api = MessagesAPI(script(*["ok"] * 7))
    async with agent_over(api, system=SYSTEM, accept=["cache_control"]).open() as keeper:
        conversation = await keeper.conversation("c")
        for number in range(7):
            await conversation.send([{"type": "text", "text": f"Part {number} " * 600, "cache_control": HOUR}])
        assert len(marks_of(conversation.messages)) == 7
    api.assert_all_accepted()
    assert [len(marks_of(record.body)) for record in api.requests] == [2, 3, 4, 4, 4, 4, 4]
    assert sent(api, 6)["messages"][-1]["content"][0]["cache_control"] == HOUR
    used = [record.usage for record in api.requests]
    assert all(
        after.cache_read_input_tokens == before.cache_read_input_tokens + before.cache_write_1h_input_tokens
        for before, after in itertools.pairwise(used)
    )


async def test_a_mark_of_the_request_itself_is_the_callers_to_move() -> None:
    api = stock_api()
    async with agent_over(api, system=SYSTEM, tools=[look], extra={"cache_control": HOUR}).open() as keeper:
        conversation = await keeper.conversation("c")
        for _ in range(3):
            await conversation.send("go")
    api.assert_all_accepted()
    used = [record.usage for record in api.requests]
    assert [one.cache_read_input_tokens for one in used[1:]] == [
        one.cache_read_input_tokens + one.cache_write_1h_input_tokens for one in used[:-1]
    ]


async def test_thinking_bound_to_the_conversation_survives_moving_marks() -> None:
    api = stock_api(model_says={"type": "thinking", "thinking": "Which shelf?"})
    async with agent_over(api, model="claude-opus-5-5", system=SYSTEM, tools=[look]).open() as keeper:
        conversation = await keeper.conversation("c")
        for _ in range(4):
            await conversation.send("And now?")
    assert find("claude-opus-5-5").conversation_binding
    api.assert_all_accepted()
    assert len(api.requests) == 8
    for record in api.requests:
        assert record.body is not None
        for message in record.body["messages"]:
            assert message["role"] == "user" or not marks_of(message)


async def test_marks_last_an_hour_once_turns_have_come_more_than_five_minutes_apart() -> None:
    clock = FixedClock()
    api = MessagesAPI(script(*["ok"] * 5), clock=clock)
    async with agent_over(api, clock=clock, system=SYSTEM).open() as keeper:
        conversation = await keeper.conversation("c")
        for wait in (0, 60, 1200, 1200, 3500):
            clock.advance(wait)
            await conversation.send("And now? " * 50)
    used = [record.usage for record in api.requests]
    prompts = [one.total_tokens - one.output_tokens for one in used]
    # the third turn came too late for what was kept five minutes, and what it writes is kept an hour
    assert [one.cache_read_input_tokens for one in used] == [0, prompts[0], 0, prompts[2], prompts[3]]
    assert [one.cache_write_1h_input_tokens > 0 for one in used] == [False, False, True, True, True]
    assert [one.cache_write_5m_input_tokens > 0 for one in used] == [True, True, False, False, False]


@pytest.mark.parametrize(
    ("options", "system"),
    [
        ({"cache": False}, SYSTEM),
        ({"model": "qwen3"}, SYSTEM),
        ({"cache": "off"}, SYSTEM),
        ({}, "Short: fewer bytes than the shortest cached prompt has tokens."),
    ],
)
async def test_requests_are_untouched_where_nothing_is_to_be_cached(options: dict[str, Any], system: str) -> None:
    api = MessagesAPI(script("ok", "ok"), strict=False)
    async with agent_over(api, system=system, **options).open() as keeper:
        conversation = await keeper.conversation("c")
        await conversation.send("One")
        await conversation.send("Two")
    assert all(b"cache_control" not in record.raw for record in api.requests)
    assert sent(api, 1)["system"] == system


async def test_the_environment_switches_caching_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNKEEPER_CACHE", "off")
    api = MessagesAPI(script("ok"))
    await agent_over(api, system=SYSTEM).run("One")
    assert not marks_of(sent(api, 0))
    monkeypatch.setenv("TURNKEEPER_CACHE", "1h")
    api = MessagesAPI(script("ok"))
    await agent_over(api, system=SYSTEM).run("One")
    assert marks_of(sent(api, 0)) == [HOUR]


def test_another_word_for_caching_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="on, off, 5m or 1h"):
        tk.Agent(cache="a week")


async def test_a_single_turn_without_tools_does_not_pay_for_writing_its_prompt() -> None:
    api = MessagesAPI(script("ok", "ok"))
    agent = agent_over(api, system=SYSTEM)
    await agent.run("A long question. " * 500)
    assert [len(marks_of(sent(api, 0)[part])) for part in ("system", "messages")] == [1, 0]
    await agent.run("Another one.")
    assert api.requests[1].usage.cache_read_input_tokens == api.requests[0].usage.cache_write_5m_input_tokens > 0


async def test_messages_that_were_there_before_are_sent_as_they_were_but_for_the_mark() -> None:
    api = stock_api()
    given = [
        {"content": "Первый вопрос 🙂", "role": "user"},
        {"role": "assistant", "content": "An answer."},
        {"role": "user", "content": "第二个问题 " * 700},
    ]
    found = await agent_over(api, tools=[look]).answer(given)
    api.assert_all_accepted()
    assert found.messages[:3] == given
    first = sent(api, 0)["messages"]
    assert first[:2] == given[:2]
    assert bare(first[2]["content"]) == [{"type": "text", "text": given[2]["content"]}]
    used = [record.usage for record in api.requests]
    assert used[1].cache_read_input_tokens == used[0].cache_write_5m_input_tokens > 0


async def test_an_empty_last_block_is_passed_over() -> None:
    """The API takes no mark on it; the block itself is the caller's and refused by the rules, so they are off here."""
    api = MessagesAPI(script("ok"), strict=False)
    message = {
        "role": "user",
        "content": [{"type": "text", "text": "Long. " * 2000}, {"type": "container_upload", "file_id": "f"}],
    }
    await agent_over(api, tools=[look], accept=["files"]).answer([message])
    blocks = sent(api, 0)["messages"][0]["content"]
    assert [len(marks_of(block)) for block in blocks] == [1, 0]
