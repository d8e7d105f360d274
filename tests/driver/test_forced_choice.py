"""Forced tool choice: on the first request of a turn, and never in a loop."""

from __future__ import annotations

from typing import Any

import pytest

import turnkeeper as tk
from tests.driver.conftest import Make, sent
from turnkeeper.testing import MessagesAPI, call, faults, reply, script

pytestmark = pytest.mark.anyio


def lookup(q: str) -> str:
    """Look up."""
    return "found"


def obedient(request: dict[str, Any]) -> dict[str, Any]:
    """A model that calls for as long as it is forced to."""
    forced = request.get("tool_choice", {}).get("type") in ("any", "tool")
    return reply(call("lookup", {"q": "x"})) if forced else reply("Done.")


@pytest.mark.parametrize("choice", ["lookup", "any"])
async def test_a_forced_choice_holds_for_the_first_request_of_each_turn(make: Make, choice: str) -> None:
    """Report A18-forced-tool-choice-loops.

    https://github.com/openai/openai-agents-python/pull/263
    """
    api = MessagesAPI(obedient)
    async with make(api, tools=[lookup], tool_choice=choice).open() as keeper:
        conversation = await keeper.conversation("c")
        for _ in range(2):
            found = await conversation.send("go")
            assert (found.text, len(found.calls)) == ("Done.", 1)
    forced = {"type": "any"} if choice == "any" else {"type": "tool", "name": "lookup"}
    assert [sent(api, n).get("tool_choice") for n in range(4)] == [forced, None, forced, None]
    api.assert_all_accepted()


async def test_it_still_holds_when_the_first_request_has_to_be_repeated(make: Make) -> None:
    cut = reply(call("lookup", {"q": "x"}), stop_reason="max_tokens")
    api = MessagesAPI(script(faults.overloaded(), cut, reply(call("lookup", {"q": "x"})), "Done."))
    assert (await make(api, tools=[lookup], tool_choice="lookup").run("go")).text == "Done."
    assert [sent(api, n).get("tool_choice", {}).get("type") for n in range(4)] == ["tool", "tool", "tool", None]


async def test_one_call_at_a_time_is_asked_for_on_every_request(make: Make) -> None:
    api = MessagesAPI(script(reply(call("lookup", {"q": "x"})), "Done."))
    await make(api, tools=[lookup], tool_choice="any", disable_parallel_tool_use=True).run("go")
    assert [sent(api, n)["tool_choice"] for n in range(2)] == [
        {"type": "any", "disable_parallel_tool_use": True},
        {"type": "auto", "disable_parallel_tool_use": True},
    ]
    api.assert_all_accepted()


async def test_none_is_sent_and_without_tools_there_is_no_choice(make: Make) -> None:
    api = MessagesAPI(script("a", "b"))
    await make(api, tools=[lookup], tool_choice="none").run("go")
    await make(api).run("go")
    assert sent(api, 0)["tool_choice"] == {"type": "none"}
    assert "tool_choice" not in sent(api, 1)
    api.assert_all_accepted()


async def test_a_model_that_refuses_it_is_not_asked(make: Make) -> None:
    """Report A39-forced-choice-rejected-by-model.

    https://github.com/langchain-ai/langchain-aws/pull/927
    """
    with pytest.raises(tk.errors.ConfigurationError, match="tool_choice 'lookup'"):
        make(MessagesAPI(script("x")), tools=[lookup], tool_choice="lookup", model="claude-fable-5-1")
