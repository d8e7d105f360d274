"""Sending once, as far as that can be known: written down before, asked about after.

Carriers take no idempotency key for messages (Twilio's Messages API has none), so a sending whose answer was lost is
looked for in the carrier's list of sent messages: by number, text and time, without those that are accounted for. What
isn't found after a while did not happen.
"""

from __future__ import annotations

import functools
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import anyio
import anyio.to_thread

from turnkeeper.errors import ToolError
from turnkeeper.sms.channel import Channel, NotSentError, OutcomeUnknownError
from turnkeeper.sms.plain import plain_text
from turnkeeper.sms.segments import LONGEST, segmented
from turnkeeper.sms.store import Store

__all__ = ("Outbox", "in_thread")

_log = logging.getLogger("turnkeeper.sms")
_T = TypeVar("_T")

OPTED_OUT = 21610
"""Twilio's number for a recipient who has opted out."""
TOO_LONG = 21617
"""Twilio's number for a text of more than 1,600 characters."""
SKEW = 60.0
"""Seconds by which the carrier's clock may be behind this one."""


class Outbox:
    """Sends for one bot. `settle` is how long, in seconds, a message that was taken may be missing from the list."""

    def __init__(
        self,
        store: Store,
        channel: Channel,
        *,
        most_segments: int,
        settle: float = 10.0,
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], Awaitable[Any]] = anyio.sleep,
    ) -> None:
        self.store = store
        self.channel = channel
        self._most = most_segments
        self._settle = settle
        self._clock = clock
        self._sleep = sleep

    def checked(self, text: str) -> str:
        """The text as it is sent. ToolError for what can't be: nothing to see, or too long."""
        body = plain_text(text)
        if not body:
            raise ToolError("The text is empty: write what the user should read, in plain words.")
        size = segmented(body)
        if len(body) > LONGEST or len(size.segments) > self._most:
            raise ToolError(
                f"The text is too long for an SMS: {len(body)} characters in {len(size.segments)} parts, and"
                f" {self._most} are allowed. It was not sent. Say it in fewer words: {size.encoding} holds"
                f" {_room(size.encoding, self._most)} characters."
            )
        return body

    async def send(self, key: str, number: str, body: str, *, cause: str, always: bool = False) -> str:
        """Send a checked text once for `key`; gives the carrier's id. ToolError tells the model why it was not.

        `always` sends to a number that has opted out as well: for the confirmation of that.
        """
        if not always and await in_thread(self.store.is_opted_out, number):
            raise ToolError("This number has opted out of messages. Nothing was sent, and nothing may be.")
        known = await in_thread(self.store.begin, key, number, body, cause)
        if known is not None:
            found = await self.outcome(key, body)
            if found is None:
                await in_thread(self.store.finish, key, error="not sent")
                return await self.send(key, number, body, cause=cause, always=always)
            return found
        try:
            carrier_id = await self.channel.send(number, body)
        except NotSentError as error:
            await in_thread(self.store.finish, key, error=str(error.error or error))
            if error.error == OPTED_OUT:
                await in_thread(self.store.opt_out, number, "the carrier says so")
                raise ToolError(
                    "This number has opted out of messages. Nothing was sent, and nothing may be."
                ) from None
            if error.error == TOO_LONG:
                raise ToolError(
                    "The carrier found the text too long. It was not sent: say it in fewer words."
                ) from None
            _log.warning("a message was refused by the carrier: %s (%s)", error, error.error)
            raise ToolError("The carrier did not take the message. It was not sent.") from None
        except OutcomeUnknownError as error:
            _log.warning("it is not known whether a message was sent: %s", error)
            found = await self.outcome(key, body)
            if found is None:
                await in_thread(self.store.finish, key, error="not sent")
                raise ToolError("The message was not sent: the carrier can't be reached well. Try once more.") from None
            return found
        await in_thread(self.store.finish, key, carrier_id=carrier_id)
        return carrier_id

    async def outcome(self, key: str, body: str) -> str | None:
        """The carrier's id if the sending of that key happened, None if it did not.

        OutcomeUnknownError where the carrier can't be asked.
        """
        sending = await in_thread(self.store.sending, key)
        if sending is None or sending.error is not None:
            return None
        if sending.carrier_id is not None:
            return sending.carrier_id
        found = await self._listed(sending.number, body, sending.at)
        left = sending.at + self._settle - self._clock()
        if found is None and left > 0:
            await self._sleep(min(left, self._settle))
            found = await self._listed(sending.number, body, sending.at)
        if found is not None:
            await in_thread(self.store.finish, key, carrier_id=found)
        return found

    async def _listed(self, number: str, body: str, at: float) -> str | None:
        listed = await self.channel.find(number, body, since=at - SKEW)
        known = await in_thread(self.store.known_ids, number, since=at - 2 * SKEW)
        return next((one for one in listed if one not in known), None)


async def in_thread(work: Callable[..., _T], *arguments: Any, **options: Any) -> _T:
    """Run what blocks in a worker thread."""
    return await anyio.to_thread.run_sync(functools.partial(work, *arguments, **options))


def _room(encoding: str, segments: int) -> int:
    alone, each = (160, 153) if encoding == "GSM-7" else (70, 67)
    return alone if segments == 1 else min(each * segments, LONGEST)
