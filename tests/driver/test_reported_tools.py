"""Reported faults of tools as whole conversations: what every tool did has a result, and the next turn is accepted."""

from __future__ import annotations

import logging
import threading
from typing import Any

import anyio
import pytest

import turnkeeper as tk
from tests.driver.conftest import agent_over, sent
from tests.tools.test_timeouts import until
from turnkeeper.testing import MessagesAPI, call, reply, script
from turnkeeper.tools import PLACEHOLDER

pytestmark = pytest.mark.anyio

LIMIT = 100_000
"""Characters of a result that reach the model, as docs/tools.md says."""


class UnprintableError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


RAISED = {
    "e1": ValueError(),
    "e2": KeyError("sku"),
    "e3": UnprintableError(),
    "e7": tk.ToolError("ж" * 2_000_000),
}
RETURNED: dict[str, Any] = {"e4": "", "e5": None, "e6": []}


def tool_named(name: str) -> tk.Tool:
    def work() -> Any:
        """Work."""
        if name in RAISED:
            raise RAISED[name]
        return RETURNED[name]

    return tk.tool(work, name=name, effect="read")


async def test_failures_and_results_without_a_text_never_spoil_the_conversation() -> None:
    """Report B10-empty-error-message.

    https://github.com/jlevy/markform/issues/153
    """
    names = [f"e{n}" for n in range(1, 8)]
    api = MessagesAPI(script(reply(*[call(name, id=name) for name in names]), "done", "and on"))
    async with agent_over(api, tools=[tool_named(name) for name in names]).open() as keeper:
        conversation = await keeper.conversation("c")
        assert (await conversation.send("go")).text == "done"
        assert (await conversation.send("and now?")).text == "and on"
    results = sent(api, 1)["messages"][-1]["content"]
    texts = [block["content"] for block in results]
    assert [block.get("is_error", False) for block in results] == [True, True, True, False, False, False, True]
    assert texts[0].startswith("The tool failed (ValueError, error id ")
    assert "'sku' was looked up and not found" in texts[1]
    assert texts[2].startswith("The tool failed (UnprintableError, error id ")
    assert texts[3:6] == [PLACEHOLDER, PLACEHOLDER, "[]"]
    assert len(texts[6]) <= LIMIT
    assert texts[6].endswith("of 2000000 characters were cut]")
    api.assert_all_accepted()


async def test_calls_that_outlive_their_timeouts_have_one_result_each_and_the_next_turn_is_accepted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Report B11-timeout-cleanup-hangs.

    https://github.com/openai/openai-agents-python/issues/4899
    """
    let_go, asked, ledger = threading.Event(), threading.Event(), list[str]()
    ended = anyio.Event()

    @tk.tool(timeout=0.02)
    async def stubborn() -> str:
        """Stay."""
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await ended.wait()
        return "too late"

    @tk.tool(timeout=0.02)
    def pay() -> str:
        """Pay."""
        asked.set()
        let_go.wait(20)
        ledger.append("paid")
        return "paid"

    replies = (reply(call("stubborn", id="a"), call("pay", id="b")), "first", "second")
    api = MessagesAPI(script(*replies))
    with caplog.at_level(logging.WARNING, "turnkeeper.tools"), anyio.fail_after(20):
        async with agent_over(api, tools=[stubborn, pay]).open() as keeper:
            conversation = await keeper.conversation("c")
            first = await conversation.send("go")
            before = list(conversation.messages)
            assert ledger == []
            let_go.set()
            ended.set()
            await until(lambda: len([one for one in caplog.messages if "ended after it was given up" in one]) == 2)
            assert list(conversation.messages) == before
            second = await conversation.send("and now?")
    assert asked.is_set()
    assert (first.text, second.text, ledger) == ("first", "second", ["paid"])
    assert {one.id: one.outcome for one in first.calls} == {"a": "timed_out", "b": "timed_out"}
    results = [b for m in sent(api, 2)["messages"] for b in m["content"] if isinstance(b, dict) and "tool_use_id" in b]
    assert [(block["tool_use_id"], block["is_error"]) for block in results] == [("a", True), ("b", True)]
    assert "may still complete" in results[1]["content"]
    api.assert_all_accepted()
