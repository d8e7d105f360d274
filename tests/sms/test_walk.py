"""Whatever order things happen in: each message that may be answered is answered once, in order, to its own phone."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import anyio
import httpx2
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.sms.conftest import MODEL, channel, sends
from turnkeeper import sms
from turnkeeper.testing import FixedClock, MessagesAPI, TwilioAPI
from turnkeeper.testing.services import Answer, Asked

PHONES = ("+4915111111111", "+4915122222222")

steps = st.lists(
    st.one_of(
        st.tuples(st.just("text"), st.sampled_from(PHONES)),
        st.tuples(st.sampled_from(["STOP", "START", "HELP"]), st.sampled_from(PHONES)),
        st.tuples(st.just("again"), st.integers(0, 9)),
        st.tuples(st.sampled_from(["lost", "refused", "restart", "wait"]), st.none()),
    ),
    max_size=14,
).filter(lambda todo: [step for step, _ in todo].count("refused") <= 2)


def obliging(request: Any) -> Any:
    """A model that answers with the user's words, tries once more where it is told to, and then ends."""
    content = request["messages"][-1]["content"]
    results = [block for block in content if block["type"] == "tool_result"]
    if not results:
        return sends(f"re {content[-1]['text']}")
    if results[-1].get("is_error") and "Try once more" in str(results[-1]["content"]):
        asked = [block for block in request["messages"][-2]["content"] if block["type"] == "tool_use"]
        return sends(asked[0]["input"]["text"])
    return "OK"


class Carrier(TwilioAPI):
    """Fails where messages are created; its list can be read at any time."""

    def handle(self, asked: Asked) -> Answer:
        return super().handle(asked) if asked.method == "POST" else self.answer(asked)


class Walk:
    """The bot, and what must come of the steps."""

    def __init__(self, folder: str) -> None:
        self.clock = FixedClock()
        self.twilio = Carrier(clock=self.clock)
        self.url = f"sqlite:///{Path(folder)}/sms.db"
        self.expected: dict[str, list[str]] = {phone: [] for phone in PHONES}
        self.out: set[str] = set()
        self.delivered: list[sms.Incoming] = []

    async def run(self, todo: Sequence[tuple[str, Any]]) -> None:
        """Take the steps; `restart` goes on with another program, in the middle of whatever is going on."""
        stack = AsyncExitStack()
        bot = await self.open(stack)
        for step, what in todo:
            if step == "restart":
                await stack.aclose()
                bot = await self.open(stack)
            elif step == "wait":
                await bot.quiet()
            elif step == "lost":
                self.twilio.after.append(httpx2.ReadTimeout("lost"))
            elif step == "refused":
                self.twilio.faults.append(Answer(status=500))
            elif step == "again":
                for message in self.delivered[what : what + 1]:
                    await bot.receive(message)
            else:
                await self.deliver(bot, step, what)
        await stack.aclose()
        self.twilio.faults.clear()
        self.twilio.after.clear()
        bot = await self.open(stack)
        await bot.recover()
        assert bot.store.waiting() == []
        await stack.aclose()

    async def open(self, stack: AsyncExitStack) -> sms.Bot:
        """A program."""
        options: dict[str, Any] = {"model": MODEL, "client": MessagesAPI(obliging), "clock": self.clock}
        carrier = channel(self.twilio, sleep=self.clock.sleep)
        opened = sms.open_bot(self.url, carrier, look_again=1e9, sleep=self.clock.sleep, **options)
        return await stack.enter_async_context(opened)

    async def deliver(self, bot: sms.Bot, step: str, phone: str) -> None:
        """A message, and what it must lead to."""
        number = len(self.delivered)
        text = f"message {number}" if step == "text" else step
        message = sms.Incoming(id=f"SM{number}", number=phone, text=text)
        self.delivered.append(message)
        if step == "STOP":
            await bot.recover()  # what is on its way when a STOP comes may be sent or not
            self.out.add(phone)
        elif step == "START":
            self.out.discard(phone)
        elif step == "text" and phone not in self.out:
            self.expected[phone].append(f"re {text}")
        await bot.receive(message)


@given(steps)
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_each_message_is_answered_once_in_order_and_nobody_who_said_stop(todo: list[tuple[str, Any]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        walk = Walk(folder)
        anyio.run(walk.run, todo)
        sent = {phone: [one["body"] for one in walk.twilio.messages if one["to"] == phone] for phone in PHONES}
        assert sent == walk.expected
        assert walk.twilio.complaints == []
