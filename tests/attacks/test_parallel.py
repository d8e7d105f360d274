"""Attack 39, side by side: what many sessions at once may use together, to the exact count.

Nothing here is left to chance: requests are held back until everybody has asked, and threads set off together.
"""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from typing import Any

import anyio
import pytest

import turnkeeper as tk
from tests.attacks.conftest import MEGAN, Stage
from tests.desk.test_concurrency import at_once
from turnkeeper import desk
from turnkeeper.errors import ConversationBusyError
from turnkeeper.testing import MessagesAPI, reply

pytestmark = pytest.mark.anyio

USAGE = {"input_tokens": 200, "output_tokens": 500}


class Held:
    """A model that answers when `most` have asked or been refused, and counts who is waiting for it."""

    def __init__(self, everybody: int) -> None:
        self.everybody = everybody
        self.over = self.asking = 0
        self.opened = anyio.Event()

    def refused(self) -> None:
        self.over += 1
        self._look()

    async def answer(self, request: Any) -> Any:
        self.asking += 1
        self._look()
        await self.opened.wait()
        return reply("ok", usage=USAGE)

    def _look(self) -> None:
        if self.asking + self.over == self.everybody:
            self.opened.set()


async def test_a_conversation_is_driven_once_at_a_time(stage: Stage) -> None:
    """Of eight at once one drives; the seven others are told so while it does, and nothing of theirs is stored."""
    model, ends = Held(8), Counter[str]()
    async with stage.keeper(model.answer) as keeper:
        visitor = stage.door.enter()

        async def send() -> None:
            conversation = await keeper.conversation("c-1", principal=visitor)
            try:
                ends[str((await conversation.send("hi")).status)] += 1
            except ConversationBusyError:
                ends["busy"] += 1
                model.refused()

        with anyio.fail_after(30):
            async with anyio.create_task_group() as group:
                for _ in range(8):
                    group.start_soon(send)
        (summary,) = await keeper.list()
    assert ends == {"completed": 1, "busy": 7}
    assert (len(stage.apis[-1].requests), summary.turns) == (1, 1)


async def test_a_customers_sessions_side_by_side_have_one_budget(stage: Stage) -> None:
    """Twelve conversations at once, room for three requests at their worst: three are sent, nine are not."""
    model, ends = Held(12), Counter[str]()
    api = MessagesAPI(model.answer, strict=False)
    limits = tk.Limits(principal_usd_per_day=Decimal("0.2"))
    settings: dict[str, Any] = {"client": api, "clock": stage.time, "model": "claude-opus-4-8", "cache": False}
    agent = desk.customer_agent(stage.records, stage.door, limits=limits, **settings)

    async def send(keeper: tk.Keeper, name: str, who: tk.Principal) -> None:
        end = await (await keeper.conversation(name, principal=who)).send("hi")
        ends[end.reason or str(end.status)] += 1
        if end.reason:
            model.refused()

    async with agent.open(stage.records.journal_url) as keeper:
        with anyio.fail_after(60):
            async with anyio.create_task_group() as group:
                for n in range(12):
                    group.start_soon(send, keeper, f"c-{n}", MEGAN)
        assert ends == {"completed": 3, "principal_usd_per_day": 9}
        assert len(api.requests) == 3
        await send(keeper, "other", tk.Principal("customer", "1213210", "confirmed"))
    assert ends["completed"] == 4, "another customer has a budget of their own"


def test_messages_of_many_threads_are_counted_exactly(stage: Stage) -> None:
    visitors = [stage.door.enter() for _ in range(2)]
    here = "203.0.113.7"

    def send(n: int) -> list[bool]:
        visitor = visitors[n % 2]
        return [stage.door.receive(visitor, f"c-{n}", "hi", client=here).is_for_the_model for _ in range(10)]

    took = [one for many in at_once(*[lambda n=n: send(n) for n in range(16)]) for one in many]
    assert Counter(took) == {True: 120, False: 40}


def test_codes_asked_for_by_many_threads_are_counted_exactly(stage: Stage) -> None:
    """Twenty sessions at once want a code to one account: five are sent."""
    visitors = [stage.door.enter() for _ in range(20)]

    def ask(visitor: tk.Principal) -> str:
        asked = stage.door.start_confirmation(visitor, "c", "email", "megana@gmail.com")
        return type(asked).__name__

    asked = at_once(*[lambda visitor=visitor: ask(visitor) for visitor in visitors])
    assert Counter(asked) == {"CodeSent": 5, "Refusal": 15}
    assert stage.mail.to == ["megana@gmail.com"] * 5
