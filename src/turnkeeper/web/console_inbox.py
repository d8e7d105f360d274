"""The console's inbox: calls that wait for a decision, and calls of which nobody knows whether they happened."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Literal

import anyio
from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from turnkeeper.driver.people import Approval, UnknownOutcome
from turnkeeper.errors import ApprovalRefusedError, ConversationBusyError, UnknownConversationError
from turnkeeper.types import Principal
from turnkeeper.web.answers import Body, JSONAnswer, RefusedError, read_body
from turnkeeper.web.cleaning import json_shown, visible
from turnkeeper.web.console_conversations import asked_number, who
from turnkeeper.web.door import Door
from turnkeeper.web.service import Service
from turnkeeper.web.sessions import Session
from turnkeeper.wire.json import MOST_NESTED, decode

__all__ = ("decide", "resolve", "show")

_MOST = 50
"""Conversations whose waiting calls are on one page."""
_WAITS = (0.02, 0.05, 0.1, 0.2, 0.4, 0.8)


async def show(request: Request, door: Door, session: Session) -> Response:
    """A page of what waits, the longest first; with `conversation=` what waits in that one."""
    service = door.running
    offset = asked_number(request, "offset", 0, 10_000_000)
    name = request.query_params.get("conversation")
    approvals = await service.keeper.approvals.list(name, limit=_MOST, offset=offset)
    unknown = await service.keeper.outcomes.list(name, limit=_MOST, offset=offset)
    more = name is None and bool(await service.journal.waiting(limit=1, offset=offset + _MOST))
    return JSONAnswer(
        {
            "approvals": [_approval(service, session.principal, one) for one in approvals],
            "outcomes": [_unknown(service, session.principal, one) for one in unknown],
            "next": offset + _MOST if more else None,
            "now": service.now(),
        }
    )


def _effect(service: Service, tool: str) -> str | None:
    found = service.keeper.agent.tools.get(tool)
    return None if found is None else found.effect


def _approval(service: Service, by: Principal, one: Approval) -> dict[str, Any]:
    return {
        "id": one.id,
        "conversation": one.conversation_id,
        "call": one.call_id,
        "tool": visible(one.tool),
        "effect": _effect(service, one.tool),
        "text": json_shown(one.input),
        "digest": one.digest,
        "policy": visible(one.policy),
        "policy_version": one.policy_version,
        "requested_at": one.requested_at,
        "expires_at": one.expires_at,
        "requester": who(one.requester),
        "requester_level": one.requester_level,
        "obstacle": service.keeper.approvals.obstacle(by, one),
    }


def _unknown(service: Service, by: Principal, one: UnknownOutcome) -> dict[str, Any]:
    return {
        "conversation": one.conversation_id,
        "call": one.call_id,
        "tool": visible(one.tool),
        "effect": _effect(service, one.tool),
        "text": json_shown(one.input),
        "key": one.key,
        "started_at": one.started_at,
        "requester": who(one.requester),
        "obstacle": service.keeper.outcomes.obstacle(by, one),
    }


class DecisionBody(Body):
    """A decision on one approval: `digest` is that of the arguments that were looked at.

    `text` is the JSON text of the arguments that an edited call runs with: as text, since a browser's numbers are
    not wide enough for every one that JSON can hold.
    """

    id: Annotated[str, Field(min_length=1, max_length=2_000)]
    digest: Annotated[str, Field(min_length=1, max_length=200)]
    decision: Literal["approve", "edit", "deny"]
    text: Annotated[str, Field(max_length=200_000)] | None = None
    reason: Annotated[str, Field(max_length=2_000)] = ""


async def decide(request: Request, door: Door, session: Session) -> Response:
    """Approve, edit or deny. Whoever waits for it is served at once: the turn goes on by itself."""
    service, by = door.running, session.principal
    body = await read_body(request, DecisionBody)
    desk = service.keeper.approvals
    approval = await desk.get(body.id)
    if approval.digest != body.digest:
        raise ApprovalRefusedError("these are not the arguments that you were shown; look at them again")
    if body.decision == "approve":
        await _once_free(lambda: desk.approve(body.id, by=by, digest=body.digest))
    elif body.decision == "deny":
        await _once_free(lambda: desk.deny(body.id, by=by, reason=body.reason))
    else:
        given = _arguments(body.text)
        await _once_free(lambda: desk.edit(body.id, by=by, input=given, reason=body.reason))
    _go_on(service, approval.conversation_id, body.decision)
    return JSONAnswer({"id": body.id, "decision": body.decision, "by": by.id})


def _arguments(text: str | None) -> Any:
    try:
        return decode(text or "", most_nested=MOST_NESTED)
    except ValueError as error:
        raise RefusedError(422, "input", f"text: the arguments are not JSON: {error}") from None


class OutcomeBody(Body):
    """What became of a call; `result` is what the model reads as its result, where it happened."""

    conversation: Annotated[str, Field(min_length=1, max_length=255)]
    call: Annotated[str, Field(min_length=1, max_length=1_000)]
    happened: bool
    result: Annotated[str, Field(max_length=100_000)] = "done"
    reason: Annotated[str, Field(max_length=2_000)] = ""


async def resolve(request: Request, door: Door, session: Session) -> Response:
    """Say whether a call's effect happened. If it did not, the call runs now."""
    service, by = door.running, session.principal
    body = await read_body(request, OutcomeBody)
    if not await service.journal.read(body.conversation):
        raise UnknownConversationError(f"no conversation {body.conversation!r} in this journal")
    desk = service.keeper.outcomes
    where = (body.conversation, body.call)
    if body.happened:
        await _once_free(lambda: desk.happened(*where, by=by, result=body.result, reason=body.reason))
    else:
        await _once_free(lambda: desk.did_not_happen(*where, by=by, reason=body.reason))
    _go_on(service, body.conversation, "happened" if body.happened else "did_not_happen")
    return JSONAnswer({"call": body.call, "happened": body.happened, "by": by.id})


async def _once_free(decide: Callable[[], Awaitable[object]]) -> None:
    """Decide; a driver that is just leaving the turn holds it for a moment after everybody can see that it waits."""
    for wait in _WAITS:
        try:
            await decide()
        except ConversationBusyError:
            await anyio.sleep(wait)
        else:
            return
    await decide()


def _go_on(service: Service, conversation_id: str, decision: str) -> None:
    service.metrics.count("decisions", by="decision", value=decision)
    service.switchboard.announce(conversation_id)
    service.kick(conversation_id)
