"""Random conversations: whatever the model answers and wherever a turn is stopped, no request is ever refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import anyio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import turnkeeper as tk
from tests.driver.conftest import agent_over
from turnkeeper.core.events import ApprovalDecided, CallFinished, CallRejected, CallResolved
from turnkeeper.core.history import History
from turnkeeper.core.machine import replay
from turnkeeper.errors import InputError
from turnkeeper.journal import MemoryJournal
from turnkeeper.testing import MessagesAPI, call, faults, reply

SEARCH = {"type": "web_search_20250305", "name": "web_search"}
NAMES = ["good", "bad", "careful", "hang", "asks", "missing"]
ANA = tk.Principal("staff", "ana")
IDS = st.sampled_from([None, None, None, "", "call_0", "toolu_x"])
TEXTS = st.sampled_from(["ok", "Привет 🙂", "\n\n", "שלום"])
STOPS = st.sampled_from(
    ["end_turn", "tool_use", "max_tokens", "refusal", "stop_sequence", "model_context_window_exceeded", "new", None]
)


@st.composite
def replies(draw: st.DrawFn) -> Any:
    """One thing that the API may do with a request."""
    kind = draw(st.sampled_from(["text", "calls", "calls", "calls", "odd", "pause", "mixed", "fault"]))
    if kind == "fault":
        made = reply(draw(TEXTS), call("good", {"n": 1}))
        return draw(
            st.sampled_from(
                [
                    faults.overloaded(),
                    faults.reset(),
                    faults.bad_request("no"),
                    faults.error_event(made),
                    faults.cut(made, inside="tool_use"),
                    faults.cut(made, before="message_stop"),
                ]
            )
        )
    names = st.sampled_from(NAMES)
    inputs: st.SearchStrategy[dict[str, Any]] = st.sampled_from([{"n": 1}, {"n": "2"}, {"n": None}, {}])
    calls = [call(draw(names), draw(inputs), id=draw(IDS)) for _ in range(draw(st.integers(1, 3)))]
    odd: st.SearchStrategy[list[Any]] = st.sampled_from([[], ["x"], calls])
    server = {"type": "server_tool_use", "name": "web_search", "input": {"query": "q"}}
    return {
        "text": lambda: reply(draw(TEXTS)),
        "calls": lambda: reply(*([draw(TEXTS)] if draw(st.booleans()) else []), *calls),
        "odd": lambda: reply(*draw(odd), stop_reason=draw(STOPS)),
        "pause": lambda: reply("Searching", server, stop_reason="pause_turn"),
        "mixed": lambda: reply(server, *calls),
    }[kind]()


class Model:
    """Gives the drawn replies one by one; answers its own server calls first, as the API does."""

    def __init__(self, drawn: list[Any]) -> None:
        self._drawn: Iterator[Any] = iter(drawn)
        self._count = 0

    def __call__(self, request: dict[str, Any]) -> Any:
        given = next(self._drawn, None)
        given = reply("done") if given is None else given
        if not isinstance(given, dict):
            return given
        last = [message for message in request["messages"] if message["role"] == "assistant"][-1:]
        blocks = last[0]["content"] if last and isinstance(last[0]["content"], list) else []
        answered = {block.get("tool_use_id") for block in blocks}
        open_ids = [b["id"] for b in blocks if b["type"] == "server_tool_use" and b["id"] not in answered]
        came = [{"type": "web_search_tool_result", "tool_use_id": one, "content": []} for one in open_ids]
        fresh = []
        for block in given["content"]:
            self._count += 1
            fresh.append(block | ({"id": f"srvtoolu_{self._count}"} if block["type"] == "server_tool_use" else {}))
        return given | {"content": [*came, *fresh]}


class World:
    """The tools, and how often each of their calls ran."""

    def __init__(self) -> None:
        self.ran: Counter[str] = Counter()

    def tools(self) -> list[Any]:
        def good(ctx: tk.ToolContext, n: int) -> str:
            """Good."""
            self.ran[ctx.call_id] += 1
            return f"хорошо {n}"

        def bad(ctx: tk.ToolContext, n: int = 0) -> str:
            """Bad."""
            self.ran[ctx.call_id] += 1
            raise ValueError(n)

        @tk.tool(parallel=False)
        async def careful(ctx: tk.ToolContext, n: int) -> list[int]:
            """Careful."""
            self.ran[ctx.call_id] += 1
            await anyio.lowlevel.checkpoint()
            return []

        @tk.tool(timeout=0.001)
        async def hang(ctx: tk.ToolContext) -> str:
            """Hang."""
            self.ran[ctx.call_id] += 1
            await anyio.sleep_forever()
            return ""

        @tk.tool(approval="always")
        def asks(ctx: tk.ToolContext, n: int = 0) -> str:
            """Asks first."""
            self.ran[ctx.call_id] += 1
            return "allowed"

        return [SEARCH, good, bad, careful, hang, asks]


STEPS = st.tuples(
    st.sampled_from(["send", "send", "leave", "cancel", "resume", "decide", "decide"]), st.integers(1, 9), st.booleans()
)


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    drawn=st.lists(replies(), max_size=14),
    steps=st.lists(STEPS, min_size=1, max_size=5),
    stream=st.booleans(),
    most=st.sampled_from([None, 1, 2]),
)
def test_no_request_is_ever_refused_and_no_result_is_lost_or_doubled(
    drawn: list[Any], steps: list[tuple[str, int, bool]], stream: bool, most: int | None
) -> None:
    anyio.run(walk, drawn, steps, stream, most)


async def walk(drawn: list[Any], steps: list[tuple[str, int, bool]], stream: bool, most: int | None) -> None:
    api, world, journal = MessagesAPI(Model(drawn)), World(), MemoryJournal()
    agent = agent_over(
        api,
        tools=world.tools(),
        stream=stream,
        most_calls_at_once=most,
        limits=tk.Limits(requests=8),
        retry=tk.RetryPolicy(retries=1),
    )
    said: list[str] = []
    refused: set[str] = set()  # a message that the API refuses gives way to the next
    async with agent.open(journal) as keeper:
        conversation = await keeper.conversation("c")
        for number, (how, updates, crash) in enumerate([*steps, ("send", 1, False)]):
            if crash:  # nothing survives but the journal
                conversation = await keeper.conversation("c")
            words = f"слово {number}"
            if how not in ("resume", "decide"):
                said.append(words)
            try:
                if how == "decide":
                    await decide(keeper, updates)
                turn = (
                    conversation.resume()
                    if how in ("resume", "decide")
                    else conversation.send(words, when_busy="interrupt")
                )
                await drive(conversation, turn, how, updates)
            except InputError:
                continue
            except tk.APIError as error:
                if error.kind == "invalid_request_error":
                    refused.add(words)
    assert api.refusals == []
    events = await journal.read("c")
    history = History(events)
    assert History(events).messages_json() == history.messages_json()
    replay(events)
    texts = [b["text"] for m in history.messages() if m["role"] == "user" for b in m["content"] if b["type"] == "text"]
    assert texts == [words for words in said if words in texts or words not in refused]
    ends = CallFinished | CallRejected | ApprovalDecided | CallResolved
    results = Counter(e.call_id for e in events if isinstance(e, ends) and e.content is not None)
    assert all(count == 1 for count in results.values())
    assert all(count == 1 for count in world.ran.values())


async def decide(keeper: tk.Keeper, number: int) -> None:
    """Say something about everything that waits for a person."""
    for approval in await keeper.approvals.list():
        if number % 3 == 0:
            await keeper.approvals.deny(approval.id, by=ANA, reason="нет")
        elif number % 3 == 1:
            await keeper.approvals.approve(approval.id, by=ANA, digest=approval.digest)
        else:
            await keeper.approvals.edit(approval.id, by=ANA, input={"n": number})
    for unknown in await keeper.outcomes.list():
        await keeper.outcomes.happened(unknown.conversation_id, unknown.call_id, by=ANA)


async def drive(conversation: tk.Conversation, turn: tk.Turn, how: str, updates: int) -> None:
    """Run the turn to its end, or leave or cancel it after so many updates."""
    if how in ("send", "resume", "decide"):
        await turn
        return
    async for _ in turn:
        updates -= 1
        if updates == 0:
            if how == "leave":
                await turn.aclose()
                return
            await conversation.cancel()
