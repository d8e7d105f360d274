"""Random replies under every choice: whatever comes, the choice is kept or the turn says that it was not."""

from __future__ import annotations

from typing import Any

import anyio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import turnkeeper as tk
from tests.driver.conftest import agent_over
from turnkeeper.journal import MemoryJournal
from turnkeeper.testing import MessagesAPI, call, faults, reply

LOOKUP, WANDER = call("lookup", {"q": "x"}), call("wander")
THINGS: list[Any] = [
    reply("Нет."),
    reply(LOOKUP),
    reply(LOOKUP),
    reply("Hm.", LOOKUP),
    reply(WANDER),
    reply(LOOKUP, WANDER),
    reply(WANDER, LOOKUP),
    reply(call("invented")),
    reply(),
    reply("\n\n"),
    reply("text", stop_reason="tool_use"),
    reply(LOOKUP, stop_reason="end_turn"),
    reply(LOOKUP, stop_reason="max_tokens"),
    reply("No.", stop_reason="refusal"),
    reply("?", stop_reason="new_reason"),
    reply(LOOKUP, stop_reason=None),
    faults.overloaded(),
    faults.bad_request("tool_choice: not here"),
    faults.cut(reply(WANDER), inside="tool_use"),
]
MODELS: list[tuple[str, str | None]] = [
    *((model, None) for model in ("claude-opus-4-8", "claude-opus-5-5", "claude-fable-5-1", "claude-haiku-4-5")),
    *(("qwen3", endpoint) for endpoint in ("ollama", "llama.cpp", "vllm", "litellm")),
]


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    drawn=st.lists(st.sampled_from(range(len(THINGS))), max_size=6),
    choice=st.sampled_from(["lookup", "any", "none"]),
    where=st.sampled_from(MODELS),
    stream=st.booleans(),
    asks=st.integers(0, 2),
    stop=st.integers(2, 40),
)
def test_whatever_comes_the_choice_is_kept_or_the_turn_says_that_it_was_not(
    drawn: list[int], choice: str, where: tuple[str, str | None], stream: bool, asks: int, stop: int
) -> None:
    model, imitation = where
    did: list[str] = []

    @tk.tool(effect="idempotent")
    def lookup(q: str) -> str:
        """Look up."""
        did.append("lookup")
        return q

    @tk.tool(effect="idempotent")
    def wander() -> str:
        """Wander."""
        did.append("wander")
        return "somewhere"

    left = iter(drawn)

    def answer(request: dict[str, Any]) -> Any:
        return next((THINGS[n] for n in left), reply("Done."))

    async def turn() -> None:
        api = MessagesAPI(answer, imitation=imitation)
        options: dict[str, Any] = {"model": model, "stream": stream, "tool_choice_asks": asks}
        journal = MemoryJournal()
        agent = agent_over(api, tools=[lookup, wander], tool_choice=choice, **options)
        status, reason = await _status(agent, journal, resume=False)
        _judge(choice, did, status, reason)
        # the same events up to anywhere, gone on with by whoever has another choice of their own
        events = (await journal.read("c"))[:stop]
        other = MemoryJournal()
        await other.append("c", events, after=0)
        before = [event.name for event in _calls(events)]
        if events[-1].type != "turn_ended":
            did.clear()
            agent = agent_over(api, tools=[lookup, wander], tool_choice="auto", **options)
            status, reason = await _status(agent, other, resume=True)
            _judge(choice, before + did, status, reason)
        if imitation is None:
            api.assert_all_accepted()

    anyio.run(turn)


def _calls(events: list[Any]) -> list[Any]:
    asked = {one.id: one for event in events if event.type == "reply_received" for one in event.calls}
    return [asked[event.call_id] for event in events if event.type == "call_started"]


async def _status(agent: tk.Agent, journal: MemoryJournal, *, resume: bool) -> tuple[str, str]:
    async with agent.open(journal) as keeper:
        conversation = await keeper.conversation("c")
        try:
            found = await (conversation.resume() if resume else conversation.send("Иди"))
        except (tk.errors.ToolChoiceUnmet, tk.APIError) as error:
            found = error.reply
        return found.status, found.reason


def _judge(choice: str, did: list[str], status: str, reason: str) -> None:
    assert (status == "completed") or reason
    if choice == "none":
        assert did == []
    elif status == "completed":
        assert ("lookup" if choice == "lookup" else did[0]) in did
    if choice == "lookup":
        assert did[:1] in ([], ["lookup"])
