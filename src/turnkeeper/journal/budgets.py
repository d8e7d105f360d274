"""What a journal does to the tables of money, inside a transaction that the caller opened and commits.

An account's row is locked from the moment that money is held or let go on it until the transaction ends, accounts in
the order of their names: two requests can't both take what is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import sqlalchemy as sa

from turnkeeper.errors import ConversationBusyError
from turnkeeper.journal import statements as sql
from turnkeeper.journal.accounts import Account, Held, in_usd, units
from turnkeeper.journal.schema import accounts, holds

__all__ = ("hold", "look", "settle")

_a, _h = accounts.c, holds.c
_id = sa.bindparam("id_", type_=sa.Text)
_name = sa.bindparam("name_", type_=sa.Text)
_amount = sa.bindparam("amount_", type_=sa.BigInteger)
_spent = sa.bindparam("spent_", type_=sa.BigInteger)
_limit = sa.bindparam("limit_", type_=sa.BigInteger)

_OPEN = {
    kind: insert(accounts).values(account=_name, spent=0, held=0).on_conflict_do_nothing()
    for kind, insert in sql.UPSERTS.items()
}
_TAKE = (
    sa.update(accounts)
    .where(_a.account == _name, _a.spent + _a.held + _amount <= _limit)
    .values(held=_a.held + _amount)
    .returning(_a.account)
)
_HELD = sa.select(_h.account, _h.amount, _h.request).where(_h.conversation_id == _id).order_by(_h.account)
_LET_GO = sa.delete(holds).where(_h.conversation_id == _id)
_COUNT = sa.update(accounts).where(_a.account == _name).values(held=_a.held - _amount, spent=_a.spent + _spent)
_ADD = sa.insert(holds)


def hold(connection: sa.Connection, again: bool, conversation_id: str, held: Held, token: int | None) -> str | None:
    """Hold the money on every account, or on none: then the first one without room. ConversationBusyError."""
    current = connection.execute(sql.CURRENT, {"id_": conversation_id}).one_or_none()
    if token is not None and (current is None or current.lease_token != token):
        raise ConversationBusyError(f"the lease on conversation {conversation_id!r} was taken over")
    if again and any(row.request == held.id for row in connection.execute(_HELD, {"id_": conversation_id})):
        return None
    settle(connection, conversation_id, None if held.lost else Decimal(0))
    amount = units(held.most)
    for name in sorted(held.limits):
        connection.execute(_OPEN[connection.dialect.name], {"name_": name})
        values = {"name_": name, "amount_": amount, "limit_": units(held.limits[name])}
        if connection.execute(_TAKE, values).one_or_none() is None:
            settle(connection, conversation_id, Decimal(0))
            return name
        connection.execute(
            _ADD, {"conversation_id": conversation_id, "account": name, "amount": amount, "request": held.id}
        )
    return None


def settle(connection: sa.Connection, conversation_id: str, cost: Decimal | None) -> None:
    """Let go of what the conversation holds, and count `cost` as spent; None: all that was held."""
    found = connection.execute(_HELD, {"id_": conversation_id}).all()
    for account, amount, _ in found:
        spent = amount if cost is None else units(cost)
        connection.execute(_COUNT, {"name_": account, "amount_": amount, "spent_": spent})
    if found:
        connection.execute(_LET_GO, {"id_": conversation_id})


def look(connection: sa.Connection, names: Sequence[str]) -> dict[str, Account]:
    """The accounts of these names."""
    found = {name: Account() for name in names}
    rows = connection.execute(sa.select(_a.account, _a.spent, _a.held).where(_a.account.in_(list(names))))
    return found | {row.account: Account(in_usd(row.spent), in_usd(row.held)) for row in rows}
