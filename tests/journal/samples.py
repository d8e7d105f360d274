"""Events to fill journals with: short conversations in several languages."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from turnkeeper.core.events import (
    CallFinished,
    CallRequest,
    CallStarted,
    ConversationStarted,
    Event,
    ReplyReceived,
    RequestStarted,
    TurnEnded,
    TurnStarted,
)
from turnkeeper.types import Principal
from turnkeeper.wire.json import encode

__all__ = ("ANA", "NOON", "OLGA", "ended", "one_turn", "principal_of", "said", "started")

NOON = 1_796_040_000.0
"""2026-11-30, noon, UTC."""
OLGA = Principal("customer", "1213210", "verified")
ANA = Principal("staff", "ana")


def principal_of(principal: Principal) -> dict[str, str]:
    return {"kind": principal.kind, "id": principal.id, "level": principal.level}


def started(principal: Principal | None = OLGA, *, at: float = NOON) -> ConversationStarted:
    return ConversationStarted(at=at, principal=principal_of(principal) if principal else None)


def said(content: Any = "Где мой заказ?", *, at: float = NOON + 1) -> TurnStarted:
    return TurnStarted(at=at, content=encode(content))


def ended(status: str = "completed", *, at: float = NOON + 9) -> TurnEnded:
    return TurnEnded(at=at, status=status)


def one_turn(text: str = "Где мой заказ?", *, at: float = NOON, principal: Principal | None = OLGA) -> list[Event]:
    """A conversation of one turn with one call: nine events with every kind of field."""
    call = CallRequest(id="toolu_01", name="get_order", index=1)
    block = '{"type":"tool_use","id":"toolu_01","name":"get_order","input":{"id" : 24601,"note":"\\u0000"}}'
    return [
        started(principal, at=at),
        said(text, at=at + 1),
        RequestStarted(at=at + 2, number=1, attempt=1, model="claude-opus-4-8", max_tokens=1000, tool_choice=None),
        ReplyReceived(
            at=at + 3.25,
            number=1,
            blocks=('{"type":"text","text":"Сейчас посмотрю 🔎"}', block),
            stop_reason="tool_use",
            usage={"input_tokens": 12, "output_tokens": 34},
            action="run_calls",
            kept=True,
            calls=(call,),
            cost=Decimal("0.001234"),
        ),
        CallStarted(at=at + 4, call_id="toolu_01", tool="get_order", effect="read", key="k-1"),
        CallFinished(at=at + 5, call_id="toolu_01", state="succeeded", content='"在路上"', is_error=False, seconds=0.5),
        RequestStarted(at=at + 6, number=2, attempt=1, model="claude-opus-4-8", max_tokens=1000, tool_choice=None),
        ReplyReceived(
            at=at + 7,
            number=2,
            blocks=('{"type":"text","text":"Заказ в пути. שלום"}',),
            stop_reason="end_turn",
            usage={"input_tokens": 56, "output_tokens": 7},
            action="end",
            kept=True,
            status="completed",
        ),
        ended(at=at + 8),
    ]
