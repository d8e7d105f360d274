"""`tool_choice` is kept: what goes out, what a reply is held against, how it ends, on every model and endpoint."""

from __future__ import annotations

import contextlib
import itertools
from typing import Any

import pytest

import turnkeeper as tk
from tests.driver.conftest import Make, agent_over, sent
from turnkeeper.core.events import ChoiceGuided
from turnkeeper.journal import MemoryJournal
from turnkeeper.testing import MessagesAPI, call, faults, reply, script, thinking
from turnkeeper.updates import CallStarted, ReplyDiscarded, TextDelta, TurnEnded, Warned

pytestmark = pytest.mark.anyio

GUIDED = (
    "[From the application, not from the user: In your next reply, call the tool `lookup` and no other tool."
    " Once you have the result, go on as you see fit.]"
)
REMINDED = (
    "[From the application, not from the user: Your last reply was left out, because it did not call `lookup`, or"
    " called another tool as well. In your next reply, call the tool `lookup` and no other tool. Once you have the"
    " result, go on as you see fit.]"
)


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


@tk.tool(effect="read")
def lookup(q: str) -> str:
    """Look up."""
    return f"нашёл {q}"


def other(q: str = "") -> str:
    """Do something else."""
    raise AssertionError("never called")


CALLS = reply(call("lookup", {"q": "x"}))


def obedient(request: dict[str, Any]) -> dict[str, Any]:
    """A model that calls for as long as it is forced to."""
    forced = request.get("tool_choice", {}).get("type") in ("any", "tool")
    return CALLS if forced else reply("Done.")


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
    api = MessagesAPI(script(faults.overloaded(), cut, CALLS, "Done."))
    assert (await make(api, tools=[lookup], tool_choice="lookup").run("go")).text == "Done."
    assert [sent(api, n).get("tool_choice", {}).get("type") for n in range(4)] == ["tool", "tool", "tool", None]


async def test_one_call_at_a_time_is_asked_for_on_every_request(make: Make) -> None:
    api = MessagesAPI(script(CALLS, "Done."))
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


async def test_a_model_that_takes_no_forced_choice_is_told_in_words_where_it_breaks_neither_cache_nor_thinking(
    make: Make,
) -> None:
    """Report A39-forced-choice-rejected-by-model: the choice holds, and a warning says how.

    https://github.com/langchain-ai/langchain-aws/pull/927
    """
    journal = MemoryJournal()
    api = MessagesAPI(script(CALLS, "Done.", CALLS, "Done again."))
    options = {"model": "claude-fable-5-1", "cache": "off"}  # its marks move from request to request
    async with make(api, tools=[lookup], tool_choice="lookup", **options).open(journal) as keeper:
        conversation = await keeper.conversation("c")
        first = await conversation.send("Привет 🙂")
        await conversation.send("again")
    assert first.warnings == (
        "claude-fable-5-1 takes no forced choice, such as tool_choice 'lookup': it was asked for in words, and each"
        " reply is checked",
    )
    bodies = [sent(api, n) for n in range(4)]
    assert [body.get("tool_choice") for body in bodies] == [None] * 4
    assert bodies[0]["messages"] == [
        {"role": "user", "content": [text("Привет 🙂")]},
        {"role": "system", "content": [text(GUIDED)]},
    ]
    assert [message["role"] for message in bodies[2]["messages"]] == [
        *("user", "system", "assistant", "user", "assistant", "user", "system"),
    ]
    # Each request begins with the one before, to the byte.
    raw = [record.raw.partition(b'"messages":[')[2][: -len(b"]}")] for record in api.requests]
    assert all(after.startswith(before) for before, after in itertools.pairwise(raw))
    kept = [event for event in await journal.read("c") if isinstance(event, ChoiceGuided)]
    assert [event.content.encode() in raw[-1] for event in kept] == [True, True]
    api.assert_all_accepted()


async def test_where_no_system_message_is_known_to_be_taken_the_words_stand_in_the_users_turn(make: Make) -> None:
    api = MessagesAPI(script(CALLS, "Done."))
    found = await make(api, model="claude-opus-5-5", tools=[lookup], tool_choice="lookup").run("go")
    assert (found.text, [one.outcome for one in found.calls]) == ("Done.", ["succeeded"])
    assert sent(api, 0)["messages"] == [{"role": "user", "content": [text("go"), text(GUIDED)]}]
    api.assert_all_accepted()


@pytest.mark.parametrize("model", ["claude-haiku-4-5", "claude-opus-4-6"])
async def test_beside_manual_thinking_the_choice_goes_in_words(make: Make, model: str) -> None:
    """Report A39-forced-choice-rejected-by-model."""
    api = MessagesAPI(script(reply(thinking("Hm."), call("lookup", {"q": "x"})), "Done."))
    manual = {"type": "enabled", "budget_tokens": 1024}
    agent = make(api, model=model, max_tokens=4000, tools=[lookup], tool_choice="any", thinking=manual)
    assert (await agent.run("go")).text == "Done."
    assert "tool_choice" not in sent(api, 0)
    assert len(sent(api, 0)["messages"][0]["content"]) == 2
    api.assert_all_accepted()


async def test_a_model_that_refuses_it_against_the_pages_is_asked_again_in_words(make: Make) -> None:
    """Report A39-forced-choice-rejected-by-model: a 400 for adaptive thinking, which the pages allow."""
    text_400 = "Thinking may not be enabled when tool_choice forces tool use."
    api = MessagesAPI(script(faults.bad_request(text_400), CALLS, "Done.", CALLS, "Bye."))
    agent = make(api, model="claude-opus-4-7", tools=[lookup], tool_choice="any", thinking={"type": "adaptive"})
    found = await agent.run("go")
    assert (found.text, len(found.calls), len(api.requests)) == ("Done.", 1, 3)
    assert [sent(api, n).get("tool_choice") for n in range(3)] == [{"type": "any"}, None, None]
    assert found.warnings[0].startswith("claude-opus-4-7 did not take tool_choice 'any': it was asked for in words")


async def test_another_400_is_not_taken_for_a_refusal_of_the_choice(make: Make) -> None:
    api = MessagesAPI(script(faults.bad_request("messages: text content blocks must be non-empty")))
    with pytest.raises(tk.APIError):
        await make(api, tools=[lookup], tool_choice="any").run("go")
    assert len(api.requests) == 1


async def test_on_demand_a_model_that_refuses_it_is_not_asked_at_all(make: Make) -> None:
    """Report A39-forced-choice-rejected-by-model: the strict policy.

    https://github.com/langchain-ai/langchain-aws/pull/927
    """
    api = MessagesAPI(script("ok"))
    options: dict[str, Any] = {"tools": [lookup], "model": "claude-fable-5-1", "guide_tool_choice": False}
    with pytest.raises(tk.errors.ConfigurationError, match="tool_choice 'lookup'"):
        make(api, tool_choice="lookup", **options)
    assert api.requests == []
    assert (await make(api, tool_choice="auto", **options).run("go")).text == "ok"


# ----- a choice that is not kept -------------------------------------------------------------------------------------


async def test_a_reply_that_breaks_the_choice_is_left_out_and_asked_for_again(make: Make) -> None:
    api = MessagesAPI(script("I'd rather not.", reply(call("other", {}), call("lookup", {"q": "x"})), CALLS, "Done."))
    found = await make(api, tools=[lookup, other], tool_choice="lookup").run("go")
    assert (found.text, [one.name for one in found.calls]) == ("Done.", ["lookup"])
    assert found.warnings == ("a reply was left out: it did not keep to tool_choice 'lookup'",) * 2
    assert [sent(api, n).get("tool_choice", {}).get("type") for n in range(4)] == ["tool", "tool", "tool", None]
    said = sent(api, 2)["messages"]
    assert said == [
        {"role": "user", "content": [text("go")]},
        {"role": "system", "content": [text(REMINDED), text(REMINDED)]},
    ]
    assert found.messages[:2] == said
    api.assert_all_accepted()


@pytest.mark.parametrize(
    ("choice", "came", "says"),
    [
        ("any", "Нет, не буду.", "tool_choice 'any' was not kept in 3 replies; the last one was text: 'Нет, не буду.'"),
        ("any", reply(call("invented")), "the last one called invented"),
        ("lookup", reply(call("other")), "tool_choice 'lookup' was not kept in 3 replies; the last one called other"),
        ("none", CALLS, "tool_choice 'none' was not kept in 3 replies; the last one called lookup"),
    ],
)
async def test_a_choice_that_can_not_be_had_ends_in_an_error_with_what_came_and_nothing_was_run(
    make: Make, choice: str, came: Any, says: str
) -> None:
    ran: list[str] = []

    @tk.tool(name="lookup")
    def recording(q: str) -> str:
        """Look up."""
        ran.append(q)
        return q

    api = MessagesAPI(script(came, came, came, "Back to normal."))
    async with make(api, tools=[recording, other], tool_choice=choice).open() as keeper:
        conversation = await keeper.conversation("c")
        with pytest.raises(tk.errors.ToolChoiceUnmet, match=says) as raised:
            await conversation.send("go")
        error = raised.value
        assert (error.reply.status, error.reply.reason) == ("failed", "tool_choice_unmet")
        assert (error.reply.text, error.reply.calls, error.replies) == ("", (), 3)
        assert error.came[0]["type"] == ("text" if isinstance(came, str) else "tool_use")
        assert conversation.status is tk.TurnStatus.FAILED
        assert ran == []
    # The next message goes on from a sound history, without the words that nothing came of.
    async with make(api, tools=[recording, other]).open(keeper.journal) as keeper:
        conversation = await keeper.conversation("c")
        assert (await conversation.send("и всё же?")).text == "Back to normal."
        assert conversation.messages[0] == {"role": "user", "content": [text("go"), text("и всё же?")]}
    api.assert_all_accepted()


@pytest.mark.parametrize("asks", [0, 1, 3])
async def test_how_often_it_is_asked_again_is_a_setting(make: Make, asks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNKEEPER_TOOL_CHOICE_ASKS", str(asks))
    api = MessagesAPI(script("no", then="last"))
    with pytest.raises(tk.errors.ToolChoiceUnmet) as raised:
        await make(api, tools=[lookup], tool_choice="any").run("go")
    assert (len(api.requests), raised.value.replies) == (asks + 1, asks + 1)
    with pytest.raises(tk.errors.ToolChoiceUnmet):
        await make(api, tools=[lookup], tool_choice="any", tool_choice_asks=0).run("go")
    assert len(api.requests) == asks + 2


async def test_the_limit_on_requests_counts_what_is_asked_again(make: Make) -> None:
    api = MessagesAPI(script("no", then="last"))
    found = await make(api, tools=[lookup], tool_choice="any", limits=tk.Limits(requests=2)).run("go")
    assert (found.status, found.reason, len(api.requests)) == ("limit_reached", "requests", 2)


@pytest.mark.parametrize(
    ("ending", "status"),
    [(reply("No.", stop_reason="refusal"), "refused"), (reply("Lon", stop_reason="max_tokens"), "truncated")],
)
async def test_a_refusal_and_a_cut_keep_their_own_status(make: Make, ending: Any, status: str) -> None:
    api = MessagesAPI(script(ending, then="last"))
    found = await make(api, tools=[lookup], tool_choice="any").run("go")
    assert found.status == status


async def test_an_empty_reply_does_not_pass_for_one_that_called(make: Make) -> None:
    api = MessagesAPI(script(reply(), reply(), CALLS, "Done."))
    found = await make(api, tools=[lookup], tool_choice="any").run("go")
    assert (found.text, len(found.calls), len(api.requests)) == ("Done.", 1, 4)


async def test_while_it_streams_the_words_of_a_reply_that_is_left_out_are_declared_void() -> None:
    api = MessagesAPI(script("Sure!", reply("A moment.", call("lookup", {"q": "x"})), "Done."))
    async with agent_over(api, tools=[lookup], tool_choice="any").open() as keeper:
        conversation = await keeper.conversation("c")
        seen = [
            update
            async for update in conversation.send("go")
            if isinstance(update, TextDelta | ReplyDiscarded | CallStarted | Warned | TurnEnded)
        ]
    [discarded] = [n for n, update in enumerate(seen) if isinstance(update, ReplyDiscarded)]
    assert "".join(one.text for one in seen[:discarded] if isinstance(one, TextDelta)) == "Sure!"
    assert seen[discarded] == ReplyDiscarded(reason="tool_choice_unmet")
    after = seen[discarded:]
    assert "".join(one.text for one in after if isinstance(one, TextDelta)) == "A moment.Done."
    assert [one.code for one in after if isinstance(one, Warned)] == ["tool_choice_unmet"]
    assert isinstance(seen[-1], TurnEnded)


async def test_streamed_calls_that_may_not_be_are_never_started() -> None:
    api = MessagesAPI(script(reply("Hm.", call("other"), call("lookup", {"q": "x"})), then="last"))
    async with agent_over(api, tools=[lookup, other], tool_choice="none").open() as keeper:
        conversation = await keeper.conversation("c")
        seen: list[Any] = []
        with contextlib.suppress(tk.errors.ToolChoiceUnmet):
            async for update in conversation.send("go"):
                seen.append(update)  # noqa: PERF401 - the error comes at the end, after the updates
            raise AssertionError("no error")
    assert not [update for update in seen if isinstance(update, CallStarted)]
    assert isinstance(seen[-1], TurnEnded)
    assert (seen[-1].status, seen[-1].reason) == ("failed", "tool_choice_unmet")


# ----- a search by the API's own tool --------------------------------------------------------------------------------

SEARCH = {"type": "web_search_20250305", "name": "web_search"}
SEARCHED: list[dict[str, Any]] = [
    {"type": "server_tool_use", "name": "web_search", "input": {"query": "q"}},
    {"type": "web_search_tool_result", "content": []},
]


async def test_a_call_of_the_apis_own_tool_keeps_to_any_and_to_its_name(make: Make) -> None:
    for choice in ("any", "web_search"):
        api = MessagesAPI(script(reply(*SEARCHED, "Found.")))
        assert (await make(api, tools=[SEARCH, lookup], tool_choice=choice).run("go")).text == "Found."


async def test_a_paused_reply_keeps_a_named_choice_open(make: Make) -> None:
    api = MessagesAPI(script(reply("Hm.", *SEARCHED, stop_reason="pause_turn"), CALLS, "Done."))
    found = await make(api, model="claude-opus-5-5", tools=[SEARCH, lookup], tool_choice="lookup").run("go")
    assert (found.text, [one.name for one in found.calls]) == ("Done.", ["lookup"])
    api.assert_all_accepted()
