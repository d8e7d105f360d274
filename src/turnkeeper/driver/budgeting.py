"""Money for a request, before it is sent: the most that it may cost, and whether every budget has room for that."""

from __future__ import annotations

import datetime
import hashlib
import uuid
from decimal import Decimal

from turnkeeper.core.limits import room_for
from turnkeeper.driver.bodies import RequestBody
from turnkeeper.driver.recorder import Recorder
from turnkeeper.journal.accounts import Held
from turnkeeper.models import Model
from turnkeeper.types import Limits, Principal
from turnkeeper.wire.json import encode

__all__ = ("account_of_day", "account_of_principal", "reserve")

_IMAGE_TOKENS = 4_784
"""The most that an image counts with the newest models, for one whose catalogue row says nothing."""
_LONGEST_NAME = 500


def account_of_day(at: float) -> str:
    """The name of the account for everything that is spent on the day (UTC) of that time."""
    return encode(["day", _date(at)])


def account_of_principal(principal: Principal | None, at: float) -> str:
    """The name of the account for what a principal spends on that day; all without a principal have one together."""
    who = None if principal is None else [principal.kind, principal.id]
    name = encode(["principal", _date(at), who])
    if len(name) > _LONGEST_NAME:  # an index takes no text of any length
        name = encode(["principal", _date(at), hashlib.sha256(name.encode()).hexdigest()])
    return name


def _date(at: float) -> str:
    return datetime.datetime.fromtimestamp(at, tz=datetime.UTC).date().isoformat()


async def reserve(
    recorder: Recorder,
    body: RequestBody,
    *,
    model: Model,
    limits: Limits,
    max_tokens: int,
    now: float,
) -> tuple[str | None, Decimal | None]:
    """Find room for the next request: the limit that has none, or None; and what was reserved, None without budgets."""
    if limits.usd is limits.conversation_usd is limits.principal_usd_per_day is limits.usd_per_day is None:
        return None, None
    most = _most(recorder, body, model, max_tokens)
    if most is None:
        return None, None
    money = recorder.state.money
    if limit := room_for(most, money, limits):
        return limit, None
    named = _accounts(limits, recorder.state.who or recorder.owner, now)
    if named:
        # what an earlier reply cost must be counted before anything is held anew
        await recorder.flush()
        held = Held(
            id=uuid.uuid4().hex,
            most=most,
            limits={account: usd for account, _, usd in named},
            lost=money.pending is not None,
        )
        full = await recorder.hold(held)
        if full is not None:
            return next(limit for account, limit, _ in named if account == full), None
    return None, most


def _most(recorder: Recorder, body: RequestBody, model: Model, max_tokens: int) -> Decimal | None:
    prompt, is_counted = recorder.history.tokens(model.image_tokens or _IMAGE_TOKENS)
    if not is_counted:
        prompt += body.fixed_tokens + ((model.tool_overhead_forced or 0) if body.has_tools else 0)
    return model.most(prompt, max_tokens, cached=body.is_cached)


def _accounts(limits: Limits, principal: Principal | None, now: float) -> list[tuple[str, str, Decimal]]:
    """The accounts on which money is held: name, limit, USD."""
    found = []
    if limits.usd_per_day is not None:
        found.append((account_of_day(now), "usd_per_day", Decimal(str(limits.usd_per_day))))
    if limits.principal_usd_per_day is not None:
        usd = Decimal(str(limits.principal_usd_per_day))
        found.append((account_of_principal(principal, now), "principal_usd_per_day", usd))
    return found
