"""Turns that are interrupted: cancelled, left by their reader, or cut down with the program."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

import anyio
import pytest

import turnkeeper as tk
from tests.driver.conftest import Make, agent_over, sent
from turnkeeper.errors import ConversationBusyError, InputError
from turnkeeper.journal import MemoryJournal
from turnkeeper.testing import MessagesAPI, call, reply, script
from turnkeeper.types import Effect
from turnkeeper.updates import CallFinished, TextDelta, TurnEnded

pytestmark = pytest.mark.anyio

Doing = Callable[[], Coroutine[Any, Any, None]]


class Bench:
    """Tools that finish, hang or count, for one conversation."""

    def __init__(self) -> None:
        self.ran: list[int] = []
        self.hanging = anyio.Event()

    def tools(self, **options: Any) -> list[tk.Tool]:
        async def fast(n: int) -> int:
            """Ten times n."""
            self.ran.append(n)
            return n * 10

        async def slow(n: int) -> int:
            """Hang."""
            self.ran.append(n)
            self.hanging.set()
            await anyio.sleep_forever()
            return n

        return [tk.tool(**options)(fast), tk.tool(**options)(slow)]


def results(api: MessagesAPI, number: int) -> list[tuple[str, bool, str]]:
    blocks = sent(api, number)["messages"][-1]["content"]
    return [
        (block["tool_use_id"], bool(block.get("is_error")), block["content"])
        for block in blocks
        if block["type"] == "tool_result"
    ]


async def interrupted(conversation: tk.Conversation, prompt: str, when: anyio.Event) -> None:
    """Send, and drop the whole task (as a lost connection or Ctrl-C does) when the event is set."""
    async with anyio.create_task_group() as group:

        async def run() -> None:
            await conversation.send(prompt)

        group.start_soon(run)
        await when.wait()
        group.cancel_scope.cancel()


NOT_RUN = "Not run: the turn was interrupted before this call started. It had no effect."
STOPPED = (
    "Interrupted while it ran: its effect is unknown, it may have happened in whole, in part or not at all. It was not"
    " run again."
)


async def test_after_an_interruption_the_next_message_finds_each_call_answered(make: Make) -> None:
    """Report A01-interrupt-orphans-tool-use.

    https://github.com/anthropics/claude-code/issues/2261
    """
    bench = Bench()
    api = MessagesAPI(script(reply("Looking it up.", call("slow", {"n": 1}, id="toolu_01")), "Fine."))
    async with make(api, tools=bench.tools()).open() as keeper:
        conversation = await keeper.conversation("c")
        await interrupted(conversation, "find k1", bench.hanging)
        assert conversation.is_open
        assert conversation.status is None
        found = await conversation.send("never mind, use k2")
    assert found.text == "Fine."
    answers = sent(api, 1)["messages"][2]["content"]
    assert answers == [
        {"type": "tool_result", "tool_use_id": "toolu_01", "content": STOPPED, "is_error": True},
        {"type": "text", "text": "never mind, use k2"},
    ]
    api.assert_all_accepted()


async def test_what_was_finished_is_kept_what_ran_is_unknown_what_did_not_start_says_so(make: Make) -> None:
    """Report A02-interrupt-mid-batch-keeps-finished.

    https://github.com/LionSR/TeXRA/pull/7171
    """
    bench = Bench()
    calls = [
        call("fast", {"n": 1}, id="toolu_a"),
        call("slow", {"n": 2}, id="toolu_b"),
        call("fast", {"n": 3}, id="toolu_c"),
    ]
    api = MessagesAPI(script(reply(*calls), "ok"))
    async with make(api, tools=bench.tools(), most_calls_at_once=1).open() as keeper:
        conversation = await keeper.conversation("c")
        await interrupted(conversation, "go", bench.hanging)
        await conversation.send("continue")
    assert results(api, 1) == [("toolu_a", False, "10"), ("toolu_b", True, STOPPED), ("toolu_c", True, NOT_RUN)]
    assert bench.ran == [1, 2]


async def test_cancel_ends_the_turn_and_its_results_are_in_the_journal(make: Make) -> None:
    bench = Bench()
    api = MessagesAPI(script(reply(call("slow", {"n": 1}, id="toolu_01")), "ok"))
    journal = MemoryJournal()
    async with make(api, tools=bench.tools()).open(journal) as keeper:
        conversation = await keeper.conversation("c")
        replies: list[tk.Reply] = []

        async def run() -> None:
            replies.append(await conversation.send("go"))

        async with anyio.create_task_group() as group:
            group.start_soon(run)
            await bench.hanging.wait()
            await conversation.cancel()
        assert (replies[0].status, replies[0].reason) == (tk.TurnStatus.CANCELLED, "cancelled")
        assert [record.outcome for record in replies[0].calls] == ["cancelled"]
        assert conversation.status is tk.TurnStatus.CANCELLED
    assert [event.type for event in await journal.read("c")][-2:] == ["call_finished", "turn_ended"]


async def test_a_reader_is_told_that_its_turn_was_cancelled(make: Make) -> None:
    bench = Bench()
    api = MessagesAPI(script(reply(call("slow", {"n": 1}))))
    async with make(api, tools=bench.tools()).open() as keeper:
        conversation = await keeper.conversation("c")
        last: Any = None
        turn = conversation.send("go")
        async with anyio.create_task_group() as group:
            group.start_soon(when(bench.hanging, conversation.cancel))
            async for update in turn:
                last = update
        assert isinstance(last, TurnEnded)
        assert last.status is tk.TurnStatus.CANCELLED
        assert turn.reply is not None
        assert turn.reply.status is tk.TurnStatus.CANCELLED


def when(event: anyio.Event, act: Doing) -> Doing:
    async def run() -> None:
        await event.wait()
        await act()

    return run


async def test_a_reader_may_cancel_between_two_updates(make: Make) -> None:
    api = MessagesAPI(script("ok"))
    async with make(api).open() as keeper:
        conversation = await keeper.conversation("c")
        seen = []
        async for update in conversation.send("count"):
            seen.append(update.type)
            if update.type == "request_started":
                await conversation.cancel()
        assert seen[-1] == "turn_ended"
        assert conversation.status is tk.TurnStatus.CANCELLED
        assert (await conversation.send("again")).text == "ok"
    api.assert_all_accepted()


@pytest.mark.parametrize("leave", ["aclose", "break"])
async def test_a_reader_that_leaves_after_the_first_call_lets_resume_run_only_the_second(
    make: Make, leave: str
) -> None:
    """Report A41-second-resume-of-an-auto-batch.

    https://github.com/mattermost/mattermost-plugin-agents/pull/908
    """
    made: list[str] = []

    def create_issue(t: str) -> int:
        """Create an issue."""
        made.append(t)
        return len(made)

    calls = [call("create_issue", {"t": "A"}, id="toolu_1"), call("create_issue", {"t": "B"}, id="toolu_2")]
    api = MessagesAPI(script(reply(*calls), "ok"))
    async with make(api, tools=[create_issue], most_calls_at_once=1).open() as keeper:
        conversation = await keeper.conversation("c")
        turn = conversation.send("go")
        async for update in turn:
            if isinstance(update, CallFinished):
                break
        if leave == "aclose":
            await turn.aclose()
        else:
            del turn
        with anyio.fail_after(5):
            while conversation.is_running:
                await anyio.lowlevel.checkpoint()
        assert made == ["A"]
        found = await conversation.resume()
    assert (found.text, made) == ("ok", ["A", "B"])
    assert results(api, 1) == [("toolu_1", False, "1"), ("toolu_2", False, "2")]


@pytest.mark.parametrize(("effect", "runs"), [("read", [1, 1]), ("idempotent", [1, 1]), ("once", [1])])
async def test_a_started_call_found_after_a_crash_is_run_again_only_if_its_effect_allows_it(
    make: Make, effect: Effect, runs: list[int]
) -> None:
    """Report A28-crash-mid-batch-reruns-finished-tools.

    https://github.com/GEMISIS/leviath/issues/96
    """
    ran: list[int] = []
    written, began = anyio.Event(), anyio.Event()

    @tk.tool(effect=effect)
    async def work(n: int) -> int:
        """Hang the first time."""
        ran.append(n)
        if len(ran) == 1:
            await written.wait()
            began.set()
            await anyio.sleep_forever()
        return n * 10

    async def line() -> str:
        """Write a line."""
        written.set()
        return "ok"

    first = reply(call("line", id="toolu_1"), call("work", {"n": 1}, id="toolu_2"))
    api = MessagesAPI(script(first, "done"))
    journal = MemoryJournal()
    agent = make(api, tools=[work, line])
    async with agent.open(journal) as keeper:
        await interrupted(await keeper.conversation("c"), "go", began)
    async with agent.open(journal) as keeper:
        found = await (await keeper.conversation("c")).resume()
    assert ran == runs
    if effect == "once":
        assert (found.status, len(api.requests)) == (tk.TurnStatus.AWAITING_RESOLUTION, 1)
    else:
        assert (found.text, len(api.requests)) == ("done", 2)
        assert results(api, 1) == [("toolu_1", False, "ok"), ("toolu_2", False, "10")]


async def test_the_same_key_is_given_when_a_call_runs_again(make: Make) -> None:
    keys: list[str] = []
    began = anyio.Event()

    @tk.tool(effect="idempotent")
    async def charge(ctx: tk.ToolContext) -> str:
        """Charge."""
        keys.append(ctx.key)
        if len(keys) == 1:
            began.set()
            await anyio.sleep_forever()
        return "ok"

    api = MessagesAPI(script(reply(call("charge", id="toolu_9")), "done"))
    journal = MemoryJournal()
    agent = make(api, tools=[charge])
    async with agent.open(journal) as keeper:
        await interrupted(await keeper.conversation("c"), "go", began)
    async with agent.open(journal) as keeper:
        await (await keeper.conversation("c")).resume()
    assert keys == ["c:toolu_9", "c:toolu_9"]


async def test_a_request_interrupted_under_way_is_sent_again(make: Make) -> None:
    began = anyio.Event()

    async def wait(seconds: float) -> None:
        began.set()
        await anyio.sleep_forever()

    from turnkeeper.testing import faults

    api = MessagesAPI(script(faults.slow("late", first=30), "here"), sleep=wait)
    async with make(api).open() as keeper:
        conversation = await keeper.conversation("c")
        await interrupted(conversation, "go", began)
        assert (await conversation.resume()).text == "here"
    assert sent(api, 0) == sent(api, 1)


async def test_a_second_message_while_a_turn_runs_is_refused_at_once_and_leaves_nothing(make: Make) -> None:
    """Report A27-two-turns-at-once-on-one-conversation.

    https://github.com/agentscope-ai/agentscope-runtime/issues/402
    """
    bench = Bench()
    api = MessagesAPI(script(reply(call("slow", {"n": 1})), "ok"))
    async with make(api, tools=bench.tools()).open() as keeper:
        conversation = await keeper.conversation("c")
        async with anyio.create_task_group() as group:

            async def run() -> None:
                await conversation.send("one")

            group.start_soon(run)
            await bench.hanging.wait()
            with pytest.raises(ConversationBusyError, match="a turn under way"):
                await conversation.send("two")
            await conversation.cancel()
        await conversation.send("three")
    assert b"two" not in b"".join(request.raw for request in api.requests)
    api.assert_all_accepted()


async def test_two_drivers_on_one_conversation_never_mix_their_messages(make: Make) -> None:
    """Report A27-two-turns-at-once-on-one-conversation.

    https://github.com/agentscope-ai/agentscope-runtime/issues/402
    """
    bench = Bench()
    api = MessagesAPI(script(reply(call("slow", {"n": 1})), "one done", "two done"))
    journal = MemoryJournal()
    agent = make(api, tools=bench.tools())
    async with agent.open(journal) as keeper:
        first, second = await keeper.conversation("c"), await keeper.conversation("c")
        busy: list[BaseException] = []
        async with anyio.create_task_group() as group:

            async def run() -> None:
                try:
                    await first.send("one")
                except ConversationBusyError as error:
                    busy.append(error)

            group.start_soon(run)
            await bench.hanging.wait()
            with pytest.raises(ConversationBusyError):
                await second.send("two")
            await first.cancel()
        assert (await second.send("three")).text == "one done"
    assert not busy
    api.assert_all_accepted()


async def test_there_is_nothing_to_resume_after_a_complete_turn(make: Make) -> None:
    api = MessagesAPI(script("ok"))
    async with make(api).open() as keeper:
        conversation = await keeper.conversation("c")
        with pytest.raises(InputError, match="nothing to resume"):
            await conversation.resume()
        await conversation.send("go")
        with pytest.raises(InputError, match="nothing to resume"):
            await conversation.resume()


@pytest.mark.parametrize("content", ["", "   ", [], [{"type": "text", "text": " "}]])
async def test_a_blank_message_is_refused_and_stores_nothing(make: Make, content: Any) -> None:
    """Report A33-whitespace-only-text-from-model.

    https://github.com/nick1udwig/kibitz/issues/78
    """
    api = MessagesAPI(script("ok"))
    journal = MemoryJournal()
    async with make(api).open(journal) as keeper:
        conversation = await keeper.conversation("c")
        with pytest.raises(InputError, match="empty"):
            conversation.send(content)
        assert await journal.read("c") == []


async def test_a_turn_runs_once() -> None:
    api = MessagesAPI(script("ok"))
    async with agent_over(api).open() as keeper:
        turn = (await keeper.conversation("c")).send("go")
        assert (await turn).text == "ok"
        with pytest.raises(InputError, match="runs once"):
            await turn


async def test_text_reaches_the_reader_as_it_comes() -> None:
    api = MessagesAPI(script("one two six"), chunk=4)
    async with agent_over(api).open() as keeper:
        conversation = await keeper.conversation("c")
        deltas = [update.text async for update in conversation.send("go") if isinstance(update, TextDelta)]
    assert deltas == ["one ", "two ", "six"]
