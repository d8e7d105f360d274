"""The bot: a message comes in, one conversation for each phone goes on, and an SMS goes out. Nothing else does.

A message is written down before it is acknowledged, and is settled when its turn has sent something, or when it is
known that nothing is to be sent. What was not settled when the program stopped is taken up by `recover`.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Literal

import anyio
import anyio.abc

import turnkeeper as tk
from turnkeeper.errors import ConversationBusyError, InputError, ToolError, TurnkeeperError
from turnkeeper.sms.channel import Channel, Incoming, OutcomeUnknownError, checked_number
from turnkeeper.sms.keywords import Keyword, keyword_in
from turnkeeper.sms.outbox import Outbox, in_thread
from turnkeeper.sms.store import Received, Store
from turnkeeper.sms.toolset import SENT, Directory, lookup_tools, sending_tool

__all__ = ("PROMPT", "Bot", "Said", "conversation_of", "open_bot")

_log = logging.getLogger("turnkeeper.sms")

PROMPT = """\
You are the SMS assistant of a shop. People write to you from their phones.

You speak only by calling send_text_to_user: what you write elsewhere is read by nobody. Look things up first where \
you need to, then send one short text. Plain words only: no Markdown, no lists with asterisks, no headings. Write in \
the user's language.

The phone number tells whose phone it is, not who holds it. Never send passwords, codes, addresses or payment data, \
and promise nothing that no tool has done.
"""
REMINDER = (
    "(A note of the system; the user did not write this and does not see it: nothing was sent. Call send_text_to_user"
    " now with your answer.)"
)

Got = Literal["queued", "duplicate", "stopped", "started", "helped", "ignored"]
_DONE: dict[Keyword, Got] = {Keyword.STOP: "stopped", Keyword.START: "started", Keyword.HELP: "helped"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What the bot says by itself, where no model is asked. Sent only where the carrier doesn't say it (keywords)."""

    stop: str = "You get no more messages from us. Write START to get them again."
    start: str = "You get messages from us again. Write STOP to end that."
    help: str = "This is our automatic SMS assistant. Write your question, or STOP to get no more messages."
    sorry: str = "Sorry, I can't answer that just now. Please try again later."
    waiting: str = "Somebody has to look at this first. You will get an answer here."


class Bot:
    """Answers phones; made by `open_bot`."""

    def __init__(
        self,
        keepers: tuple[tk.Keeper, tk.Keeper],
        outbox: Outbox,
        *,
        said: Said,
        most_per_hour: int,
        most_at_once: int,
        start_soon: Any,
    ) -> None:
        self.keeper, self._insisting = keepers
        self.outbox = outbox
        self._said = said
        self._most_per_hour = most_per_hour
        self._start_soon = start_soon
        self._locks: dict[str, _Turnstile] = {}
        self._room = anyio.Semaphore(most_at_once)
        self._under_way = 0
        self._quiet = anyio.Event()

    @property
    def store(self) -> Store:
        """Who opted out, what came in, what went out."""
        return self.outbox.store

    async def receive(self, message: Incoming) -> Got:
        """Take a message: it is durable on return, and is answered afterwards, in the background.

        A keyword is acted on at once and reaches no model; a message of a number that opted out is dropped. InputError
        for a number that is none.
        """
        number = checked_number(message.number)
        opted_out = await in_thread(self.store.is_opted_out, number)
        written = message.text if message.written is None else message.written
        keyword = Keyword(message.handled) if message.handled else keyword_in(written, opted_out=opted_out)
        dropped = opted_out and keyword is None
        said = keyword is not None and (self.outbox.channel.confirms_keywords or bool(message.handled))
        most = self._most_per_hour if keyword in (None, Keyword.HELP) else 2**31
        kept = await in_thread(
            self.store.receive, message, keyword=keyword, settled=dropped or said, most=most, within=3600.0
        )
        if kept == "too_many":
            _log.warning("a number has written more than %d messages in an hour; the rest is dropped", most)
        if dropped or kept == "too_many":
            return "ignored"
        self._under_way += 1
        self._start_soon(self._work_scheduled, number)
        if kept == "duplicate":
            return "duplicate"
        return "queued" if keyword is None else _DONE[keyword]

    async def quiet(self) -> None:
        """Wait until nothing is under way here: every message that was received has been answered, or put off."""
        while self._under_way:
            await self._quiet.wait()

    async def _work_scheduled(self, number: str) -> None:
        try:
            await self.work(number)
        finally:
            self._one_less()

    def _one_less(self) -> None:
        self._under_way -= 1
        if not self._under_way:
            self._quiet.set()
            self._quiet = anyio.Event()

    async def recover(self) -> None:
        """Answer what an earlier program left unanswered; whatever is under way here has ended too. Raises nothing."""
        await self.take_up()
        await self.quiet()

    async def take_up(self) -> None:
        """Answer what waits and is not at work here. Raises nothing."""
        try:
            numbers = dict.fromkeys(one.number for one in await in_thread(self.store.waiting))
        except Exception:  # noqa: BLE001 - the database may be there again the next time
            _log.exception("it can't be read which messages wait for an answer")
            return
        async with anyio.create_task_group() as group:
            for number in numbers:
                if number not in self._locks:  # else somebody is at it
                    group.start_soon(self.work, number)

    async def work(self, number: str) -> None:
        """Answer the messages of a number, one after another, the oldest first. Raises nothing."""
        turnstile = self._locks.setdefault(number, _Turnstile())
        self._under_way += 1
        try:
            async with turnstile:
                for message in await in_thread(self.store.waiting, number):
                    async with self._room:
                        over = await self._answer(message)
                    if not over:
                        break  # the later ones wait behind it
        except Exception:  # noqa: BLE001 - one number's trouble is no other's, and what waits is tried again
            _log.exception("the messages of a number could not be answered; they are tried again later")
        finally:
            if not turnstile.users and self._locks.get(number) is turnstile:
                del self._locks[number]
            self._one_less()

    async def _answer(self, message: Received) -> bool:
        """Run the message's turn and see to it that something was sent; False if it is not over."""
        if message.keyword is not None:  # it was acted on; what is left is to say so
            await self._say(message, message.keyword, getattr(self._said, message.keyword))
            await in_thread(self.store.settle, message.id)
            return True
        reply: tk.Reply | None = None
        for keeper, text, key in (
            (self.keeper, message.text, message.id),
            (self._insisting, REMINDER, f"{message.id}:reminder"),
        ):
            if await in_thread(self.store.is_opted_out, message.number):
                await in_thread(self.store.settle, message.id)
                return True
            try:
                reply = await self._turn(keeper, message, text, key)
            except InputError:  # that turn is over, and the next one has begun
                continue
            if reply is None or reply.status is not tk.TurnStatus.COMPLETED or await self._has_sent(message):
                break
        if reply is not None and reply.status is tk.TurnStatus.AWAITING_APPROVAL:
            await self._say(message, "waiting", self._said.waiting)
            return False
        if reply is not None and reply.status is tk.TurnStatus.AWAITING_RESOLUTION:
            _log.warning("it is not known whether an answer was sent; `turnkeeper approvals` shows the call")
        elif not await self._has_sent(message):
            await self._say(message, "sorry", self._said.sorry)
        await in_thread(self.store.settle, message.id)
        return True

    async def _has_sent(self, message: Received) -> bool:
        """Whether the model's turn has sent something, or may have."""
        return await in_thread(self.store.count_sent, message.id) > 0

    async def _turn(self, keeper: tk.Keeper, message: Received, text: str, key: str) -> tk.Reply | None:
        """The end of the turn of that key; None if it failed for good. InputError if a later one has begun."""
        principal = tk.Principal("phone", message.number, "claimed")
        conversation = await keeper.conversation(
            conversation_of(message.number), principal=principal, injected={"cause": message.id}
        )
        if conversation.status is tk.TurnStatus.AWAITING_RESOLUTION and not conversation.is_running:
            how: Literal["interrupt", "wait"] = "interrupt"  # the model is told that the outcome isn't known
        else:
            how = "wait"
        try:
            return await conversation.send(text, key=key, when_busy=how)
        except (ConversationBusyError, InputError):
            raise  # busy: it waits for a person's approval, so later
        except TurnkeeperError as error:
            _log.warning("a turn failed: %s: %s", type(error).__name__, error)
        return None

    async def _say(self, message: Received, what: str, text: str) -> None:
        """Send a text of the bot's own because of a message, once; an empty one is none."""
        if not text:
            return
        always = what == Keyword.STOP  # the confirmation is the one thing that an opted-out number gets
        own = f"{message.id}:{what}", message.number, text
        try:
            await self.outbox.send(*own, cause=f"{message.id}:own", always=always)
        except (ToolError, OutcomeUnknownError) as error:
            _log.warning("a message of the bot's own was not sent: %s", error)


class _Turnstile:
    """A lock for one number that knows whether anybody uses it."""

    def __init__(self) -> None:
        self._lock = anyio.Lock()
        self.users = 0

    async def __aenter__(self) -> None:
        self.users += 1
        try:
            await self._lock.acquire()
        except BaseException:
            self.users -= 1
            raise

    async def __aexit__(self, *_: object) -> None:
        self.users -= 1
        self._lock.release()


def conversation_of(number: str) -> str:
    """The id of a number's conversation; it doesn't show the number, since ids stand in logs."""
    return f"sms-{hashlib.blake2b(number.encode(), digest_size=8).hexdigest()}"


@asynccontextmanager
async def open_bot(  # noqa: PLR0913 - settings by name
    journal: str,
    channel: Channel,
    *,
    directory: Directory | None = None,
    tools: Sequence[Any] = (),
    said: Said | None = None,
    most_segments: int = 4,
    most_in_turn: int = 3,
    most_per_hour: int = 60,
    most_at_once: int = 20,
    look_again: float = 30.0,
    settle: float = 10.0,
    clock: Callable[[], float] = time.time,
    sleep: Callable[[float], Awaitable[Any]] = anyio.sleep,
    **settings: Any,
) -> AsyncIterator[Bot]:
    """A bot over a journal and a channel; on leaving, turns that run are interrupted, to be gone on with later.

    Args:
        journal: Where conversations are kept, `sqlite:///sms.db` or `postgresql+psycopg://…`; the bot's own tables are
            in the same database. `memory:` keeps nothing.
        channel: Who carries the messages: `sms.Console(…)`, `sms.Twilio(…)`.
        directory: What is known of a phone number; it makes the tools `get_customer_info` and `get_my_orders`.
        tools: Further tools. They get the phone as `ctx.principal`, of kind `phone` and level `claimed`.
        said: What the bot says by itself.
        most_segments, most_in_turn, most_per_hour: The parts of one text, the texts that one message may cause, the
            messages of one number in an hour that are answered.
        most_at_once: Phones that are answered at the same time; the others wait.
        look_again: Seconds after which messages that could not be answered are tried again.
        settle: Seconds that a sent message may be missing from the carrier's list.
        settings: Those of `turnkeeper.Agent` (model, system, client, limits, …).
    """
    async with _opened(journal, settings, channel, clock, sleep, settle, most_segments) as (outbox, lent):
        offered = [
            sending_tool(outbox, most_in_turn=most_in_turn),
            *(lookup_tools(directory) if directory is not None else ()),
            *tools,
        ]
        common = {"system": PROMPT, "limits": tk.Limits(requests=8, calls=16), "clock": clock, **settings}
        speaking = tk.Agent(**{**common, "tools": offered, "tool_choice": "any"})
        insisting = tk.Agent(**{**common, "tools": offered, "tool_choice": SENT})
        group = anyio.create_task_group()
        async with speaking.open(lent) as keeper, insisting.open(lent) as second:
            await group.__aenter__()
            bot = Bot(
                (keeper, second),
                outbox,
                said=said or Said(),
                most_per_hour=most_per_hour,
                most_at_once=most_at_once,
                start_soon=group.start_soon,
            )
            group.start_soon(_look_again, bot, look_again)
            try:
                yield bot
            finally:
                # Left by hand: what the block raises reaches the caller as it is, not inside an exception group.
                group.cancel_scope.cancel()
                await group.__aexit__(None, None, None)


@asynccontextmanager
async def _opened(
    journal: str,
    settings: dict[str, Any],
    channel: Channel,
    clock: Callable[[], float],
    sleep: Callable[[float], Awaitable[Any]],
    settle: float,
    most_segments: int,
) -> AsyncIterator[tuple[Outbox, Any]]:
    """The journal and the bot's own tables beside it."""
    async with tk.Agent(**settings).open(journal) as keeper:
        store = await in_thread(Store, journal, clock=clock)
        try:
            outbox = Outbox(store, channel, most_segments=most_segments, settle=settle, clock=clock, sleep=sleep)
            yield outbox, keeper.journal
        finally:
            with anyio.CancelScope(shield=True):
                await in_thread(store.close)


async def _look_again(bot: Bot, seconds: float) -> None:
    """Take up what is not answered, now and every so often."""
    async with anyio.create_task_group() as group:
        while True:
            group.start_soon(bot.take_up)
            await anyio.sleep(seconds)
