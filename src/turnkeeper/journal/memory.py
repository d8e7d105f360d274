"""The journal in memory: for one-turn calls, for tests, and as the proof that the port is one."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from typing import TypeVar

from turnkeeper.core.events import Event
from turnkeeper.errors import ConversationBusyError, JournalError, UnknownConversationError
from turnkeeper.journal.accounts import Account, Accounts, Held, settled_cost
from turnkeeper.journal.carrying import to_lines, whole_export
from turnkeeper.journal.chain import Row, problems_of, rows_of
from turnkeeper.journal.errors import ConversationExistsError
from turnkeeper.journal.ids import checked_id, checked_key, storable
from turnkeeper.journal.messages import Messages
from turnkeeper.journal.port import Erasure, Lease, Problem, Queued, Summary, Transaction
from turnkeeper.journal.summaries import WAITING, summarised
from turnkeeper.journal.taken import driven
from turnkeeper.types import Principal
from turnkeeper.wire.json import fold_surrogates

__all__ = ("MemoryJournal",)

_T = TypeVar("_T")


@dataclass(slots=True)
class _Kept:
    events: list[Event] = field(default_factory=list)
    tokens: list[int | None] = field(default_factory=list)
    carried: tuple[Row, ...] = ()  # the first events, if they were imported: their very rows
    summary: Summary | None = None
    lease: Lease | None = None
    token: int = 0
    messages: Messages = field(default_factory=Messages)

    def rows(self, conversation_id: str) -> list[Row]:
        """The events as a journal in a database would store them; made when asked for, to keep appending cheap."""
        rows = list(self.carried)
        for event, token in zip(self.events[len(rows) :], self.tokens[len(rows) :], strict=True):
            previous = rows[-1].hash if rows else ""
            rows.extend(rows_of(conversation_id, [event], after=len(rows), previous=previous, token=token))
        return rows


class MemoryJournal:
    """Events in lists; gone when the process ends."""

    def __init__(self) -> None:
        self._kept: dict[str, _Kept] = {}
        self._erasures: list[Erasure] = []
        self._accounts = Accounts()

    async def append(
        self, conversation_id: str, events: Sequence[Event], *, after: int, token: int | None = None
    ) -> int:
        """See `Journal.append`."""
        kept = self._kept.get(checked_id(conversation_id)) or _Kept()
        if len(kept.events) != after or (token is not None and token != kept.token):
            raise ConversationBusyError(f"conversation {conversation_id!r} was moved on by another driver")
        if events:
            kept.summary = summarised(conversation_id, kept.summary, events)
            kept.events.extend(events)
            kept.tokens.extend([token] * len(events))
            kept.messages.begin(events)
            self._kept[conversation_id] = kept
            is_settled, cost = settled_cost(events)
            if is_settled:
                self._accounts.settle(conversation_id, cost)
        return len(kept.events)

    @property
    def transactional(self) -> bool:
        """Never: there is no database."""
        return False

    def transaction(self, conversation_id: str, *, token: int | None) -> AbstractAsyncContextManager[Transaction]:
        """See `Journal.transaction`: refused."""
        del token
        raise JournalError(
            f"conversation {conversation_id!r} is kept in memory, where there is no database to write in"
        )

    async def waiting(self, *, limit: int = 50, offset: int = 0) -> list[Summary]:
        """See `Journal.waiting`."""
        found = [one for one in self._summaries() if one.status in WAITING]
        found.sort(key=lambda one: (one.updated_at, one.id))
        return _page(found, limit, offset)

    async def read(self, conversation_id: str, *, after: int = 0) -> list[Event]:
        """See `Journal.read`."""
        kept = self._kept.get(checked_id(conversation_id))
        return kept.events[max(after, 0) :] if kept else []

    async def first(self, conversation_id: str) -> Event | None:
        """See `Journal.first`."""
        kept = self._kept.get(checked_id(conversation_id))
        return kept.events[0] if kept and kept.events else None

    async def conversations(
        self, *, principal: Principal | None = None, limit: int = 50, offset: int = 0
    ) -> list[Summary]:
        """See `Journal.conversations`."""
        found = [one for one in self._summaries() if principal is None or _same(one.principal, principal)]
        found.sort(key=lambda one: (one.updated_at, one.id), reverse=True)
        return _page(found, limit, offset)

    async def unfinished(self, *, now: float, limit: int = 50) -> list[Summary]:
        """See `Journal.unfinished`."""
        found = [one for one in self._summaries() if one.is_open and not _held(self._kept[one.id].lease, now)]
        found.sort(key=lambda one: (one.updated_at, one.id))
        return _page(found, limit)

    async def enqueue(
        self, conversation_id: str, content: str, *, key: str, principal: Principal | None, now: float
    ) -> bool:
        """See `Journal.enqueue`."""
        kept = self._kept.get(checked_id(conversation_id)) or _Kept()
        message = Queued(
            conversation_id=conversation_id,
            key=checked_key(key),
            content=fold_surrogates(content),
            principal=principal and Principal(*map(storable, (principal.kind, principal.id, principal.level))),
            at=float(now),
        )
        if kept.messages.knows(key):
            return False
        owner = kept.summary.principal if kept.summary is not None else kept.messages.first_sender
        if owner is not None and principal is not None and not _same(owner, principal):
            raise UnknownConversationError(f"no conversation {conversation_id!r} in this journal")
        self._kept[conversation_id] = kept
        kept.messages.add(message)
        return True

    async def queued(self, conversation_id: str, *, limit: int = 50) -> list[Queued]:
        """See `Journal.queued`."""
        kept = self._kept.get(checked_id(conversation_id))
        return _page(list(kept.messages.waiting.values()), limit) if kept else []

    async def dequeue(self, conversation_id: str, key: str) -> bool:
        """See `Journal.dequeue`."""
        kept = self._kept.get(checked_id(conversation_id))
        return kept is not None and kept.messages.remove(checked_key(key))

    async def message(self, conversation_id: str, key: str) -> Queued | None:
        """See `Journal.message`."""
        kept = self._kept.get(checked_id(conversation_id))
        return kept.messages.find(key) if kept else None

    async def backlog(self, *, now: float, limit: int = 50) -> list[str]:
        """See `Journal.backlog`."""
        found = [
            (min(one.at for one in kept.messages.waiting.values()), name)
            for name, kept in self._kept.items()
            if kept.messages.waiting
            and not _held(kept.lease, now)
            and (kept.summary is None or kept.summary.status not in WAITING)
        ]
        return _page([name for _, name in sorted(found)], limit)

    async def acquire(
        self, conversation_id: str, *, holder: str, seconds: float, now: float, instead_of: str | None = None
    ) -> Lease:
        """See `Journal.acquire`."""
        kept = self._kept.setdefault(checked_id(conversation_id), _Kept())
        held = kept.lease if _held(kept.lease, now) else None
        if held is not None and held.holder == instead_of != holder:
            held = None
        if held is not None and held.holder != holder:
            raise driven(conversation_id, holder=held.holder, since=held.since, until=held.expires_at)
        if held is None:
            kept.token += 1
        kept.lease = Lease(
            conversation_id=conversation_id,
            holder=holder,
            token=kept.token,
            since=now if held is None else held.since,
            expires_at=now + seconds,
        )
        return kept.lease

    async def renew(self, lease: Lease, *, seconds: float, now: float) -> Lease:
        """See `Journal.renew`."""
        kept = self._kept.get(lease.conversation_id)
        if kept is None or kept.lease is None or kept.token != lease.token:
            raise ConversationBusyError(f"the lease on conversation {lease.conversation_id!r} was taken over")
        kept.lease = replace(kept.lease, expires_at=now + seconds)
        return kept.lease

    async def release(self, lease: Lease) -> None:
        """See `Journal.release`."""
        kept = self._kept.get(lease.conversation_id)
        if kept is not None and kept.lease is not None and kept.token == lease.token:
            kept.lease = None

    async def hold(self, conversation_id: str, held: Held, *, token: int | None = None) -> str | None:
        """See `Journal.hold`."""
        kept = self._kept.get(checked_id(conversation_id)) or _Kept()
        if token is not None and token != kept.token:
            raise ConversationBusyError(f"the lease on conversation {conversation_id!r} was taken over")
        return self._accounts.hold(conversation_id, held)

    async def accounts(self, names: Sequence[str]) -> dict[str, Account]:
        """See `Journal.accounts`."""
        return self._accounts.look(names)

    async def erase(self, what: str | Principal, *, by: Principal, now: float) -> list[Erasure]:
        """See `Journal.erase`."""
        if isinstance(what, str):
            kept = self._kept.get(checked_id(what))
            if kept is None or not kept.messages:
                self._existing(what)
            names = [what]
        else:
            names = sorted(name for name, kept in self._kept.items() if _owns(what, kept))
        receipts = []
        for name in names:
            kept = self._kept[name]
            self._accounts.settle(name, None)
            receipts.append(Erasure(conversation_id=name, at=now, events=len(kept.events), by=by))
            # a new token for the next holder: whoever drives it now is shut out
            self._kept[name] = _Kept(token=kept.token + 1)
        self._erasures.extend(receipts)
        return receipts

    async def erasures(self, *, limit: int = 50, offset: int = 0) -> list[Erasure]:
        """See `Journal.erasures`."""
        return _page(self._erasures[::-1], limit, offset)

    async def export(self, conversation_id: str) -> str:
        """See `Journal.export`."""
        return to_lines(conversation_id, self._existing(conversation_id).rows(conversation_id))

    async def import_(self, text: str) -> Summary:
        """See `Journal.import_`."""
        carried = whole_export(text)
        name = carried.conversation_id
        kept = self._kept.get(name) or _Kept()
        if kept.events:
            raise ConversationExistsError(f"conversation {name!r} is in this journal already")
        tokens = [row.token for row in carried.rows]
        summary = summarised(name, None, carried.events)
        self._kept[name] = _Kept(
            events=list(carried.events),
            tokens=tokens,
            carried=carried.rows,
            summary=summary,
            lease=kept.lease,
            token=max(kept.token, *(token or 0 for token in tokens)),
            messages=kept.messages,
        )
        kept.messages.begin(carried.events)
        return summary

    async def verify(self, conversation_id: str) -> list[Problem]:
        """See `Journal.verify`."""
        kept = self._existing(conversation_id)
        return list(problems_of(conversation_id, kept.rows(conversation_id), last=len(kept.events)))

    async def aclose(self) -> None:
        """Nothing is held open."""

    def _summaries(self) -> list[Summary]:
        return [kept.summary for kept in self._kept.values() if kept.summary is not None]

    def _existing(self, conversation_id: str) -> _Kept:
        kept = self._kept.get(checked_id(conversation_id))
        if kept is None or kept.summary is None:
            raise UnknownConversationError(f"no conversation {conversation_id!r} is in this journal")
        return kept


def _page(found: list[_T], limit: int, offset: int = 0) -> list[_T]:
    begin = max(offset, 0)
    return found[begin : begin + max(limit, 0)]


def _held(lease: Lease | None, now: float) -> bool:
    return lease is not None and lease.expires_at > now


def _owns(who: Principal, kept: _Kept) -> bool:
    return _same(kept.summary.principal, who) if kept.summary is not None else kept.messages.of(who)


def _same(found: Principal | None, wanted: Principal) -> bool:
    return found is not None and (found.kind, found.id) == (storable(wanted.kind), storable(wanted.id))
