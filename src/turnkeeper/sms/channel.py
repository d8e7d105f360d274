"""The port to whoever carries the messages, and what can come of a sending."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Protocol

from turnkeeper.errors import InputError, TurnkeeperError

__all__ = ("Channel", "Incoming", "NotSentError", "OutcomeUnknownError", "checked_number")

_E164 = re.compile(r"\+[1-9][0-9]{6,14}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Incoming:
    """One message from a phone. `id` is the carrier's own, the same at every delivery; `number` is in E.164.

    `handled` names the keyword that the carrier has answered and acted on itself, if it said so. `written` is what the
    person wrote, where `text` says more than that; a keyword is looked for in it.
    """

    id: str
    number: str
    text: str
    handled: str = ""
    written: str | None = None


class NotSentError(TurnkeeperError):
    """The carrier refused the message: it was not sent and will not be. `error` is its number for the reason."""

    code = "sms_not_sent"

    def __init__(self, message: str, *, error: int | None = None) -> None:
        super().__init__(message)
        self.error = error


class OutcomeUnknownError(TurnkeeperError):
    """The connection broke, or the carrier failed, after the message may have been taken."""

    code = "sms_outcome_unknown"


class Channel(Protocol):
    """Carries messages to phones. `confirms_keywords`: the carrier itself answers STOP, START and HELP."""

    confirms_keywords: bool

    async def send(self, number: str, text: str) -> str:
        """Send; gives the carrier's id for the message. NotSentError, OutcomeUnknownError."""
        ...

    async def find(self, number: str, text: str, *, since: float) -> list[str]:
        """Ids of the messages with that text that were sent to the number since then (seconds since 1970).

        OutcomeUnknownError if the carrier can't be asked.
        """
        ...


def checked_number(number: str) -> str:
    """The number, if it is one in E.164. InputError."""
    if not _E164.fullmatch(number):
        raise InputError(
            "a phone number is written in E.164: +, the country's code, and all digits, such as +4915112345678"
        )
    return number
