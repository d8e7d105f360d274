"""One-time codes: made, hashed, compared, counted. A code is six digits, good for ten minutes, three tries and one use.

The hash is keyed, and covers what the code is for: session, conversation, purpose, subject. So a code is right for that
and for nothing else, and a copy of the database can't be searched for it without the key.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import unicodedata
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal, TypeAlias

import sqlalchemy as sa

from turnkeeper.desk import schema

__all__ = (
    "CAPS",
    "DIGITS",
    "LIFETIME",
    "MOST_TRIES",
    "Code",
    "Codes",
    "Purpose",
    "Sealer",
    "digits_of",
    "number_of_six",
    "windows_of",
)

DIGITS = 6
LIFETIME = timedelta(minutes=10)
MOST_TRIES = 3

Purpose: TypeAlias = Literal["identify", "act", "new_contact"]
"""What a code proves: who somebody is; that they want one action; that a new contact is theirs."""


@dataclass(frozen=True, slots=True)
class Cap:
    """At most `most` in `within`."""

    most: int
    within: timedelta


CAPS: dict[str, Cap] = {
    "contact": Cap(5, timedelta(hours=1)),
    "account": Cap(5, timedelta(hours=1)),
    "again": Cap(5, timedelta(hours=1)),
    "client": Cap(20, timedelta(hours=1)),
    "everyone": Cap(600, timedelta(hours=1)),
    "wrong": Cap(10, timedelta(hours=24)),
    "message": Cap(60, timedelta(hours=1)),
    "messages of a client": Cap(240, timedelta(hours=1)),
}
"""How many codes may be asked for with one claimed contact, sent to one account, sent again in one session, asked for
from one client's address, and by all together; how many wrong tries an account bears before no code is sent to it; how
many messages come from one session and one address."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Code:
    """A code as it is kept: everything but the digits."""

    id: str
    session_id: str
    conversation_id: str
    purpose: Purpose
    subject: str
    customer_id: str | None
    expires_at: datetime
    tries: int = 0

    @property
    def tries_left(self) -> int:
        """How often it can still be entered wrong, counting the last time."""
        return MOST_TRIES - self.tries


class Sealer:
    """Hashes codes, and what is counted, with a key that only the application has. At least 16 bytes."""

    def __init__(self, key: bytes) -> None:
        self._codes = hmac.digest(key, b"turnkeeper.desk.code", "sha256")
        self._counts = hmac.digest(key, b"turnkeeper.desk.count", "sha256")

    def of(self, code: Code, digits: str) -> str:
        """The hash that is kept of a code."""
        bound = (code.id, code.session_id, code.conversation_id, code.purpose, code.subject, digits)
        text = "\n".join(f"{len(part)}:{part}" for part in bound)
        return hmac.new(self._codes, text.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()

    def counted(self, kind: str, value: str) -> str:
        """What is kept of a contact, an account or an address, to count by."""
        named = hmac.new(self._counts, f"{kind}\n{value}".encode("utf-8", "surrogatepass"), hashlib.sha256)
        return f"{kind}:{named.hexdigest()[:32]}"


def digits_of(text: str) -> str | None:
    """The six digits that somebody typed, in any script, blanks and dashes between them; None for anything else."""
    plain = [character for character in unicodedata.normalize("NFKC", text) if not character.isspace()]
    kept = [one for one in plain if one not in "-‐‑‒–—" and unicodedata.category(one) != "Cf"]
    if len(kept) != DIGITS or not all(one.isdecimal() for one in kept):
        return None
    return "".join(str(unicodedata.decimal(one)) for one in kept)


_RUN = re.compile(r"\d(?:[ -]{0,2}\d)*")


def number_of_six(text: str) -> str | None:
    """The first number in the text that has six digits, with no more than blanks and dashes between them."""
    plain = "".join(_plain(character) for character in unicodedata.normalize("NFKC", text))
    runs = (re.sub("[ -]", "", run[0]) for run in _RUN.finditer(plain))
    return next((run for run in runs if len(run) == DIGITS), None)


def windows_of(text: str) -> frozenset[str]:
    """All that can be read as six digits in a row, whatever stands between them or around them."""
    typed = (character for character in unicodedata.normalize("NFKC", text) if character.isdecimal())
    digits = "".join(str(unicodedata.decimal(character)) for character in typed)
    return frozenset(digits[at : at + DIGITS] for at in range(len(digits) - DIGITS + 1))


def _plain(character: str) -> str:
    """A digit of any script as ASCII's; every kind of dash and blank as one, what can't be seen as nothing."""
    if character.isdecimal():
        return str(unicodedata.decimal(character))
    category = unicodedata.category(character)
    return "" if category == "Cf" else "-" if category == "Pd" else " " if character.isspace() else character


class Codes:
    """The codes in the database, inside one transaction of the caller's."""

    def __init__(self, connection: sa.Connection, sealer: Sealer, now: datetime) -> None:
        self._connection = connection
        self._sealer = sealer
        self._now = now

    def make(
        self,
        *,
        session_id: str,
        conversation_id: str,
        purpose: Purpose,
        subject: str,
        customer_id: str | None,
        code_id: str | None = None,
    ) -> tuple[Code, str]:
        """A new code and its digits; those of the session that were open are void from here on."""
        self.void(schema.codes.c.session_id == session_id, "superseded")
        digits = f"{secrets.randbelow(10**DIGITS):0{DIGITS}}"
        code = Code(
            id=code_id or secrets.token_hex(12),
            session_id=session_id,
            conversation_id=conversation_id,
            purpose=purpose,
            subject=subject,
            customer_id=customer_id,
            expires_at=self._now + LIFETIME,
        )
        self._connection.execute(
            sa.insert(schema.codes).values(
                id=code.id,
                session_id=session_id,
                conversation_id=conversation_id,
                purpose=purpose,
                subject=subject,
                customer_id=customer_id,
                code_hash=self._sealer.of(code, digits),
                made_at=self._now,
                expires_at=code.expires_at,
                tries=0,
            )
        )
        return code, digits

    def known(self, code_id: str) -> Code | None:
        """The code of that id, whatever became of it."""
        row = self._connection.execute(sa.select(schema.codes).where(schema.codes.c.id == code_id)).one_or_none()
        return None if row is None else _code(row)

    def open(self, session_id: str, conversation_id: str) -> Code | None:
        """The code that a session is waited for in that conversation, None where there is none (any more)."""
        table = schema.codes
        mine = (table.c.session_id == session_id) & (table.c.conversation_id == conversation_id)
        query = sa.select(table).where(mine, *self._usable()).order_by(table.c.made_at.desc()).limit(1)
        row = self._connection.execute(query).one_or_none()
        return None if row is None else _code(row)

    def latest(self, session_id: str, conversation_id: str) -> Code | None:
        """The last code that was made for a session in that conversation within an hour, whatever became of it.

        None if it was the right one: there is nothing left to send again.
        """
        table = schema.codes
        mine = (table.c.session_id == session_id) & (table.c.conversation_id == conversation_id)
        recent = table.c.made_at > self._now - timedelta(hours=1)
        newest = (table.c.made_at.desc(), table.c.closed_at.is_not(None))  # of two of one instant the open one
        query = sa.select(table).where(mine, recent).order_by(*newest).limit(1)
        row = self._connection.execute(query).one_or_none()
        return None if row is None or row.outcome == "spent" else _code(row)

    def spend(self, code: Code, digits: str) -> bool:
        """Try the digits: True once, for the right ones, in time. Each try counts, also one of two at the same time."""
        table = schema.codes
        counted = sa.update(table).where(table.c.id == code.id, *self._usable()).values(tries=table.c.tries + 1)
        if not self._connection.execute(counted).rowcount:
            return False
        kept = self._connection.execute(sa.select(table.c.code_hash).where(table.c.id == code.id)).scalar_one()
        right = hmac.compare_digest(str(kept), self._sealer.of(code, digits)) and code.customer_id is not None
        if right:
            self.void(table.c.id == code.id, "spent")
        return right

    def among(self, session_id: str, windows: Collection[str]) -> dict[str, str]:
        """Which codes of the session, in any conversation, are among those digits: ids of codes, and the digits.

        Those that are closed too, until they would have run out: a message that is sent again after its answer was lost
        holds one. Nothing is counted, so it is for masking only: what it finds must not be accepted, or be void from
        then on, unless `spend` counts the same message as a try. Else a message of many digits would be many free
        tries.
        """
        if not windows:
            return {}
        table = schema.codes
        found: dict[str, str] = {}
        mine = (table.c.session_id == session_id) & (table.c.expires_at > self._now)
        for row in self._connection.execute(sa.select(table).where(mine)):
            code, kept = _code(row), str(row.code_hash)
            right = [one for one in windows if hmac.compare_digest(kept, self._sealer.of(code, one))]
            if right:
                found[code.id] = right[0]
        return found

    def void(self, which: sa.ColumnElement[bool], outcome: str) -> int:
        """Close the open codes among those, which are good for nothing any more; how many there were."""
        table = schema.codes
        change = sa.update(table).where(which, table.c.closed_at.is_(None))
        return self._connection.execute(change.values(closed_at=self._now, outcome=outcome)).rowcount

    # -- caps -----------------------------------------------------------------------------------------------------

    def is_over(self, kind: str, value: str) -> bool:
        """Whether the cap leaves no room for one more."""
        cap, table = CAPS[kind], schema.sends
        mine = (table.c.counted == self._sealer.counted(kind, value)) & (table.c.at > self._now - cap.within)
        return bool(self._connection.execute(sa.select(sa.func.count()).where(mine)).scalar_one() >= cap.most)

    def count(self, kind: str, value: str) -> None:
        """Note one more."""
        counted = self._sealer.counted(kind, value)
        self._connection.execute(sa.insert(schema.sends).values(counted=counted, at=self._now))

    def wrong_tries(self, customer_id: str) -> bool:
        """Whether so many codes of the customer were guessed at that none is sent any more."""
        cap, table = CAPS["wrong"], schema.codes
        mine = (table.c.customer_id == customer_id) & (table.c.made_at > self._now - cap.within)
        wrong = sa.select(sa.func.coalesce(sa.func.sum(table.c.tries), 0)).where(
            mine, sa.func.coalesce(table.c.outcome, "") != "spent"
        )
        return int(self._connection.execute(wrong).scalar_one()) >= cap.most

    def _usable(self) -> tuple[Any, ...]:
        table = schema.codes
        return (table.c.closed_at.is_(None), table.c.tries < MOST_TRIES, table.c.expires_at > self._now)


def _code(row: sa.Row[Any]) -> Code:
    return Code(
        id=row.id,
        session_id=row.session_id,
        conversation_id=row.conversation_id,
        purpose=row.purpose,
        subject=row.subject,
        customer_id=row.customer_id,
        expires_at=row.expires_at,
        tries=row.tries,
    )
