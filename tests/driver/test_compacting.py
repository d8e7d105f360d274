"""Long conversations: the API compacts them before the window is full; nothing is ever cut here."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

import turnkeeper as tk
from tests.driver.conftest import agent_over, sent
from turnkeeper.errors import ConfigurationError
from turnkeeper.testing import MessagesAPI, call, reply, script

pytestmark = pytest.mark.anyio

BETA = "compact-2026-01-12"
MANAGEMENT = {"edits": [{"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": 50_000}}]}
SUMMARY = {"type": "compaction", "content": "Прочитаны файлы f1, f2, f3 📁"}


@tk.tool(effect="read")
def read(path: str) -> str:
    """Read a file.

    Args:
        path: Which.
    """
    return f"{path}: " + "строка текста " * 2_500


def rounds(number: int) -> Any:
    return reply(call("read", {"path": f"f{number}"}, id=f"toolu_0{number}"))


async def test_a_long_conversation_is_compacted_by_the_api_and_kept_whole_here() -> None:
    """Report A03-compaction-tail-starts-on-tool-result.

    https://github.com/vellum-ai/vellum-assistant/pull/31035
    """
    usage = {
        "input_tokens": 9_000,
        "output_tokens": 30,
        "iterations": [
            {"type": "compaction", "input_tokens": 60_000, "output_tokens": 400},
            {"type": "message", "input_tokens": 9_000, "output_tokens": 30},
        ],
    }
    compacted = reply(SUMMARY, call("read", {"path": "f6"}, id="toolu_06"), usage=usage)
    api = MessagesAPI(script(*[rounds(number) for number in range(1, 6)], compacted, "done", "And more."))
    async with agent_over(api, tools=[read], compaction=50_000, headers={"anthropic-beta": "mine"}).open() as keeper:
        conversation = await keeper.conversation("c")
        first = await conversation.send("Read them all.")
        assert (first.status, first.text) == (tk.TurnStatus.COMPLETED, "done")
        again = await keeper.conversation("c")  # as another process would take it up
        await again.send("And more?")
        messages = again.messages
    api.assert_all_accepted()
    asked = [record.body.get("context_management") for record in api.requests if record.body is not None]
    # what was added since the last count is estimated on the high side; the API counts for itself
    assert asked == [None] * 3 + [MANAGEMENT] * 5
    betas = [record.headers.get("anthropic-beta") for record in api.requests]
    assert betas == ["mine"] * 3 + [f"mine,{BETA}"] * 5
    # all of it is sent and kept, each result with its call
    assert len(messages) == 16
    assert sent(api, 7)["messages"][11]["content"][0] == SUMMARY
    calls = [block["id"] for message in messages for block in message["content"] if block["type"] == "tool_use"]
    results = [
        block["tool_use_id"] for message in messages for block in message["content"] if block["type"] == "tool_result"
    ]
    assert calls == results == [f"toolu_0{number}" for number in range(1, 7)]
    # the summary is the beginning of what the simulator counts, and the compaction is paid
    assert api.requests[6].usage.total_tokens < 20_000
    assert first.cost is not None
    assert first.cost > 60_000 * Decimal("0.000005")


async def test_short_conversations_know_nothing_of_it() -> None:
    api = MessagesAPI(script("ok"))
    await agent_over(api).run("Hi")
    assert "context_management" not in sent(api, 0)
    assert "anthropic-beta" not in api.requests[0].headers


async def test_a_prompt_that_no_window_holds_ends_the_turn_and_the_next_message_goes_on() -> None:
    api = MessagesAPI(script("Shorter is fine."))
    async with agent_over(api, model="claude-haiku-4-5").open() as keeper:
        conversation = await keeper.conversation("c")
        end = await conversation.send("слово " * 120_000)
        assert (end.status, end.reason) == (tk.TurnStatus.LIMIT_REACHED, "context_window")
        assert (await conversation.send("Shorter, then.")).text == "Shorter is fine."
        assert len(await keeper.journal.export("c")) > 120_000
    assert [len(message["content"]) for message in sent(api, 1)["messages"]] == [1]


@pytest.mark.parametrize(
    ("options", "asks"),
    [
        ({}, True),
        ({"compaction": False}, False),
        ({"model": "claude-haiku-4-5"}, False),
        ({"extra": {"context_management": MANAGEMENT}, "headers": {"anthropic-beta": BETA}}, True),
    ],
)
async def test_it_is_asked_for_where_the_model_has_it_and_nobody_said_otherwise(
    options: dict[str, Any], asks: bool
) -> None:
    near = {"input_tokens": 750_000, "output_tokens": 10}
    api = MessagesAPI(script(reply("One.", usage=near), "Two."))
    async with agent_over(api, **options).open() as keeper:
        conversation = await keeper.conversation("c")
        await conversation.send("Hi")
        await conversation.send("And?")
    assert ("context_management" in sent(api, 1)) is asks
    api.assert_all_accepted()


@pytest.mark.parametrize("given", [49_999, "often", True])
def test_what_can_not_be_asked_for_is_refused(given: Any) -> None:
    with pytest.raises(ConfigurationError, match="compact"):
        tk.Agent(model="claude-haiku-4-5", compaction=given)
