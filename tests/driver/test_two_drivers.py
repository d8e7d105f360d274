"""Two drivers of one conversation, stopped anywhere, people deciding beside them: it stays one sound conversation."""

from __future__ import annotations

from collections import Counter
from typing import Any

import anyio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import turnkeeper as tk
from tests.driver.conftest import agent_over
from tests.driver.test_walk import Model, World, decide, replies
from turnkeeper.core.events import ApprovalDecided, CallFinished, CallRejected, CallResolved
from turnkeeper.core.history import History
from turnkeeper.core.machine import replay
from turnkeeper.errors import ConversationBusyError, InputError
from turnkeeper.journal import MemoryJournal
from turnkeeper.testing import MessagesAPI

STEPS = st.tuples(
    st.sampled_from(["send", "send", "wait", "interrupt", "leave", "cancel", "kill", "resume", "decide"]),
    st.integers(1, 9),
)


class Said:
    """The users' messages: those that were tried, and those whose turn has come to its end."""

    def __init__(self) -> None:
        self.tried: list[str] = []
        self.answered: list[str] = []


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    drawn=st.lists(replies(), max_size=12),
    first=st.lists(STEPS, min_size=1, max_size=5),
    second=st.lists(STEPS, min_size=1, max_size=5),
)
def test_two_drivers_never_spoil_a_conversation(
    drawn: list[Any], first: list[tuple[str, int]], second: list[tuple[str, int]]
) -> None:
    anyio.run(race, drawn, first, second)


async def race(drawn: list[Any], *plans: list[tuple[str, int]]) -> None:
    api, world, journal, said = MessagesAPI(Model(drawn)), World(), MemoryJournal(), Said()
    agent = agent_over(api, tools=world.tools(), limits=tk.Limits(requests=6), retry=tk.RetryPolicy(retries=1))
    async with agent.open(journal) as keeper:
        async with anyio.create_task_group() as group:
            for number, plan in enumerate(plans):
                group.start_soon(follow, keeper, f"d{number}", plan, said)
        last = await keeper.conversation("c")
        for _ in range(3):  # the script may still hold a failure or two
            try:
                await last.send("last", when_busy="interrupt")
                break
            except tk.APIError:
                continue
    assert api.refusals == []
    events = await journal.read("c")
    replay(events)
    history = History(events)
    texts = Counter(
        b["text"] for m in history.messages() if m["role"] == "user" for b in m["content"] if b["type"] == "text"
    )
    del texts["last"]
    assert set(texts) <= set(said.tried)
    assert all(texts[one] == 1 for one in said.answered)
    assert all(count == 1 for count in texts.values())
    ends = CallFinished | CallRejected | ApprovalDecided | CallResolved
    results = Counter(e.call_id for e in events if isinstance(e, ends) and e.content is not None)
    assert all(count == 1 for count in results.values())
    assert all(count == 1 for count in world.ran.values())


async def follow(keeper: tk.Keeper, name: str, plan: list[tuple[str, int]], said: Said) -> None:
    """One driver, with its own handle on the conversation; it may be refused, and goes on."""
    for number, (how, after) in enumerate(plan):
        conversation = await keeper.conversation("c")
        words = f"{name} слово {number}"
        try:
            if how == "decide":
                await decide(keeper, after)
            elif how == "resume":
                await conversation.resume()
            else:
                said.tried.append(words)
                busy: Any = how if how in ("wait", "interrupt") else "refuse"
                await act(conversation, conversation.send(words, when_busy=busy), how, after)
                said.answered.append(words)
        except (ConversationBusyError, InputError, tk.APIError, StoppedError):
            continue


class StoppedError(Exception):
    """The driver was stopped before its turn had ended."""


async def act(conversation: tk.Conversation, turn: tk.Turn, how: str, after: int) -> None:
    """Run the turn; leave it, cancel it, or drop everything in the middle, after so many updates or steps."""
    if how in ("send", "wait", "interrupt"):
        await turn
    elif how == "kill":
        failure: Exception = StoppedError()
        async with anyio.create_task_group() as group:

            async def later() -> None:
                for _ in range(after * 3):
                    await anyio.lowlevel.checkpoint()
                group.cancel_scope.cancel()

            group.start_soon(later)
            try:
                await turn
            except Exception as error:  # raised outside of the group, as it is
                failure = error
            group.cancel_scope.cancel()
        raise failure
    else:
        async for _ in turn:
            after -= 1
            if after == 0:
                if how == "cancel":
                    await conversation.cancel()
                else:
                    await turn.aclose()
                raise StoppedError
