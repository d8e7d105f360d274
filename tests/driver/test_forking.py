"""A new conversation from any event of another: sound, nothing run again, where it came from written down."""

from __future__ import annotations

from typing import Any

import pytest

import turnkeeper as tk
from tests.driver.conftest import agent_over, sent
from turnkeeper.core.events import CallFinished, ConversationStarted, TurnEnded
from turnkeeper.driver.spending import spending, totals
from turnkeeper.errors import InputError, UnknownConversationError
from turnkeeper.testing import MessagesAPI, call, reply, script

pytestmark = pytest.mark.anyio

OLGA = tk.Principal("customer", "Ольга")


@pytest.fixture(params=["memory", "sqlite"])
def url(request: pytest.FixtureRequest, tmp_path: Any) -> str:
    return "memory:" if request.param == "memory" else f"sqlite:///{tmp_path}/journal.db"


async def test_every_event_is_a_sound_place_to_begin_from_and_no_call_runs_again(url: str) -> None:
    ran: list[str] = []

    def ship(order: str) -> str:
        """Ship.

        Args:
            order: Which.
        """
        ran.append(order)
        return f"{order} отправлен 📦"

    first = [reply(call("ship", {"order": "A"}), call("ship", {"order": "B"})), "Both sent.", "You're welcome."]
    api = MessagesAPI(script(*first, *["Anew."] * 40))
    async with agent_over(api, tools=[ship]).open(url) as keeper:
        conversation = await keeper.conversation("c", principal=OLGA)
        await conversation.send("Ship A and B")
        await conversation.send("Thanks")
        before = await keeper.journal.export("c")
        events = await keeper.journal.read("c")
        for seq in range(1, len(events) + 1):
            fork = await keeper.fork("c", seq, new_id=f"c-{seq}", principal=OLGA)
            assert await keeper.journal.verify(fork.id) == []
            started = (await keeper.journal.read(fork.id))[0]
            assert isinstance(started, ConversationStarted)
            assert started.forked_from == {"conversation": "c", "seq": seq}
            assert (await fork.send("And now?")).text == "Anew."
        assert await keeper.journal.export("c") == before
    api.assert_all_accepted()
    assert sorted(ran) == ["A", "B"]


async def test_an_open_call_gets_a_result_that_says_so(url: str) -> None:
    @tk.tool(approval="always")
    def pay() -> str:
        """Pay."""
        return "paid"

    api = MessagesAPI(script(reply(call("pay", id="toolu_pay")), "Then not."))
    async with agent_over(api, tools=[pay]).open(url) as keeper:
        await (await keeper.conversation("c")).send("Pay")
        fork = await keeper.fork("c")
        events = await keeper.journal.read(fork.id)
        assert [one.state for one in events if isinstance(one, CallFinished)] == ["cancelled"]
        assert [(one.status, one.reason) for one in events if isinstance(one, TurnEnded)] == [("cancelled", "forked")]
        assert [one.call_id for one in await keeper.approvals.list()] == ["toolu_pay"]
        assert (await keeper.approvals.list())[0].conversation_id == "c"
        assert (await fork.send("No")).text == "Then not."
    assert [block["type"] for block in sent(api, 1)["messages"][2]["content"]] == ["tool_result", "text"]


async def test_what_was_spent_stays_with_the_original(url: str) -> None:
    api = MessagesAPI(script("One", "Two"))
    async with agent_over(api).open(url) as keeper:
        await (await keeper.conversation("c")).send("Hi")
        fork = await keeper.fork("c", new_id="d")
        await fork.send("Hi again")
        entries = [one for name in ("c", "d") for one in spending(name, await keeper.journal.read(name))]
    assert {one.name: int(one.requests) for one in totals(entries, "conversation")} == {"c": 1, "d": 1}
    assert sum(one.usd for one in totals(entries, "conversation")) == api.cost()


async def test_what_can_not_be_forked_is_explained() -> None:
    async with agent_over(MessagesAPI(script("One"))).open() as keeper:
        await (await keeper.conversation("c", principal=OLGA)).send("Hi")
        with pytest.raises(InputError, match=r"has the events 1 to \d, not 99"):
            await keeper.fork("c", 99, principal=OLGA)
        with pytest.raises(InputError, match="'c' in this journal already"):
            await keeper.fork("c", 1, new_id="c", principal=OLGA)
        with pytest.raises(UnknownConversationError):
            await keeper.fork("nobody")
        with pytest.raises(UnknownConversationError):
            await keeper.fork("c", principal=tk.Principal("customer", "somebody else"))
