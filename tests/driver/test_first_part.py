"""When the first part of a reply came is written down with it."""

from __future__ import annotations

import pytest

import turnkeeper as tk
from tests.driver.conftest import Make
from turnkeeper.core.events import ReplyReceived, RequestStarted
from turnkeeper.testing import FixedClock, MessagesAPI, call, reply, script

pytestmark = pytest.mark.anyio


class Ticking(FixedClock):
    """Each look at it is a second later than the one before."""

    def __call__(self) -> float:
        self.advance(1)
        return super().__call__()


@tk.tool(effect="read")
def status(order: str) -> str:
    """Where an order is."""
    return order


@pytest.mark.parametrize("answer", ["Привет! 🙂", reply(call("status", {"order": "24601"}))])
async def test_a_reply_knows_when_its_first_part_came_if_it_was_streamed(
    make: Make, stream: bool, answer: object
) -> None:
    api = MessagesAPI(script(answer, "Done."))
    async with make(api, clock=Ticking(), tools=[status]).open() as keeper:
        await (await keeper.conversation("c")).send("hi")
        events = await keeper.journal.read("c")
    asked = next(event for event in events if isinstance(event, RequestStarted))
    came = next(event for event in events if isinstance(event, ReplyReceived))
    if stream:
        assert came.first_at is not None
        assert asked.at < came.first_at < came.at
    else:
        assert came.first_at is None
