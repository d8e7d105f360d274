"""What a front end answers to open questions: taken only from a principal who may decide, all or nothing.

Who may is what the engine says: never the one who asked for the call. Whoever began the conversation may withdraw what
they asked for, which decides on nothing and ends the turn.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

import anyio
from pydantic import Field, ValidationError

from turnkeeper.core.events import ApprovalDecided, CallResolved, Event
from turnkeeper.core.identity import same_person
from turnkeeper.driver.people import Approval, UnknownOutcome
from turnkeeper.driver.waiting import as_dict
from turnkeeper.errors import (
    ApprovalDecidedError,
    ApprovalExpiredError,
    ApprovalRefusedError,
    ArgumentsRejectedError,
    ConversationBusyError,
    InputError,
    UnknownApprovalError,
)
from turnkeeper.tools import check_arguments
from turnkeeper.types import Principal
from turnkeeper.web.answers import Body
from turnkeeper.web.service import Service
from turnkeeper.web.standard.parts import Unknown, Waiting, outcome_id
from turnkeeper.wire.json import decode

__all__ = ("Answer", "UnusableError", "decide")


_LETTING_GO_SECONDS = 10.0
_LOOK_SECONDS = 0.2


class UnusableError(Exception):
    """A request that can't be carried out; nothing was changed. `code` is stable."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer to an open question. `cancelled`: nobody will answer it."""

    id: str
    cancelled: bool
    payload: Any


class _OnApproval(Body):
    approved: bool
    edited: dict[str, Any] | None = Field(default=None, alias="editedArgs")
    reason: str = ""


class _OnOutcome(Body):
    happened: bool
    result: Any = "done"
    reason: str = ""


Step = Callable[[], Awaitable[object]]


async def decide(
    service: Service,
    conversation: str,
    answers: Sequence[Answer],
    *,
    by: Principal,
    waiting: Sequence[Waiting],
    owner: Principal | None,
) -> None:
    """Write the answers down; the turn then goes on by itself. The same answers once more change nothing.

    `waiting` are the questions that are open. UnusableError, and nothing has changed, if an answer is to none of them
    (`unknown_interrupt`), one is left out (`interrupts_uncovered`), it isn't theirs to decide (`not_allowed`), too late
    (`interrupt_expired`), no answer to that question (`bad_answer`), or the conversation is at work elsewhere (`busy`).
    """
    ids = [one.id for one in answers]
    if len(set(ids)) != len(ids):
        raise UnusableError("bad_answer", "a question is answered twice")
    open_ones = {one.id: one for one in waiting}
    events = await service.journal.read(conversation)
    for one in answers:
        if one.id not in open_ones and not _was_given(events, conversation, one, by):
            raise UnusableError("unknown_interrupt", f"no question {one.id!r} is open in this conversation")
    uncovered = [name for name in open_ones if name not in ids]
    if uncovered and any(name in open_ones for name in ids):
        raise UnusableError(
            "interrupts_uncovered", f"{len(uncovered)} of the open questions left without an answer; answer all of them"
        )
    todo = [(open_ones[one.id], one) for one in answers if one.id in open_ones]
    if todo and all(one.cancelled for _, one in todo) and owner is not None and same_person(owner, by):
        await _performed(service, conversation, lambda: service.stop(conversation, principal=by))
        return
    for step in [await _step(service, conversation, question, one, by) for question, one in todo]:
        await _performed(service, conversation, step)
    service.metrics.count("decisions", by="decision", value="streamed", amount=len(todo))
    service.switchboard.announce(conversation)
    service.kick(conversation)


async def _performed(service: Service, conversation: str, step: Step) -> None:
    """Carry a step out; whoever drove the turn to where it waits may need a moment to let go of it."""
    try:
        with anyio.fail_after(_LETTING_GO_SECONDS), service.switchboard.reading(conversation) as channel:
            while True:
                seen = channel.version
                try:
                    await step()
                except ConversationBusyError:
                    with anyio.move_on_after(_LOOK_SECONDS):
                        await channel.changed(seen)
                else:
                    return
    except TimeoutError as error:
        raise UnusableError("busy", "the conversation is at work; try again in a moment") from error
    except (ApprovalDecidedError, UnknownApprovalError, InputError) as error:
        raise UnusableError("unknown_interrupt", "the question was answered a moment ago") from error
    except ApprovalExpiredError as error:
        raise UnusableError("interrupt_expired", str(error)) from error
    except ApprovalRefusedError as error:
        raise UnusableError("not_allowed", "this is not yours to decide") from error


async def _step(service: Service, conversation: str, question: Waiting, answer: Answer, by: Principal) -> Step:
    """What carries an answer out, after every check that can be made without changing anything."""
    if isinstance(question, Unknown):
        return await _on_outcome(service, conversation, question, answer, by)
    approvals = service.keeper.approvals
    try:
        approval = await approvals.get(question.id)
    except ApprovalExpiredError as error:
        _check(service, None, by)
        if answer.cancelled:  # it counts as denied, by itself
            return _nothing
        raise UnusableError("interrupt_expired", str(error)) from error
    except (ApprovalDecidedError, UnknownApprovalError) as error:
        raise UnusableError("unknown_interrupt", "the question was answered a moment ago") from error
    _check(service, approval, by)
    if answer.cancelled:
        return lambda: approvals.deny(approval.id, by=by, reason="the question was withdrawn")
    try:
        said = _OnApproval.model_validate(answer.payload)
    except ValidationError as error:
        raise UnusableError("bad_answer", 'an answer to an approval is {"approved": true or false, …}') from error
    if not said.approved:
        return lambda: approvals.deny(approval.id, by=by, reason=said.reason)
    if said.edited is None:
        return lambda: approvals.approve(approval.id, by=by, digest=approval.digest)
    edited = said.edited
    tool = service.keeper.agent.tools.get(approval.tool)
    try:
        if tool is None:
            raise ArgumentsRejectedError("the tool is not offered any more; deny the call instead")
        check_arguments(tool, edited)
    except ArgumentsRejectedError as error:
        raise UnusableError("bad_answer", str(error)) from error
    return lambda: approvals.edit(approval.id, by=by, input=edited, reason=said.reason)


async def _on_outcome(service: Service, conversation: str, question: Unknown, answer: Answer, by: Principal) -> Step:
    outcomes = service.keeper.outcomes
    found: list[UnknownOutcome] = await outcomes.list(conversation)
    unknown = next((one for one in found if outcome_id(conversation, one.call_id) == question.id), None)
    if unknown is None:
        raise UnusableError("unknown_interrupt", "the question was answered a moment ago")
    _check(service, unknown.as_approval(), by)
    if answer.cancelled:
        raise UnusableError("bad_answer", "whether a call took effect has to be said; it can't be left open")
    try:
        said = _OnOutcome.model_validate(answer.payload)
    except ValidationError as error:
        raise UnusableError("bad_answer", 'an answer to an outcome is {"happened": true or false, …}') from error
    call = unknown.call_id
    if said.happened:
        return lambda: outcomes.happened(conversation, call, by=by, result=said.result, reason=said.reason)
    return lambda: outcomes.did_not_happen(conversation, call, by=by, reason=said.reason)


async def _nothing() -> None:
    """There is nothing to do."""


def _check(service: Service, approval: Approval | None, by: Principal) -> None:
    """As the engine will, so that of several answers none is written down if one isn't allowed."""
    if approval is None:
        allowed = by.kind == "staff"
    else:
        own = approval.requester is not None and same_person(by, approval.requester)
        allowed = not own and service.keeper.agent.may_decide(by, approval)
    if not allowed:
        raise UnusableError("not_allowed", "this is not yours to decide")


def _was_given(events: Sequence[Event], conversation: str, answer: Answer, by: Principal) -> bool:
    """Whether that very answer was given before, by the same principal: a request that is repeated."""
    for event in events:
        if isinstance(event, ApprovalDecided) and event.approval_id == answer.id:
            if event.decision == "expired":  # whoever lets it go says what is so already
                return answer.cancelled
            return event.by == as_dict(by) and _same_decision(event, answer)
        if isinstance(event, CallResolved) and outcome_id(conversation, event.call_id) == answer.id:
            payload = answer.payload if isinstance(answer.payload, dict) else {}
            return not answer.cancelled and event.by == as_dict(by) and payload.get("happened") is event.happened
    return False


def _same_decision(event: ApprovalDecided, answer: Answer) -> bool:
    payload = answer.payload if isinstance(answer.payload, dict) else {}
    if answer.cancelled or payload.get("approved") is False:
        return event.decision == "denied"
    edited = payload.get("editedArgs")
    if edited is None:
        return event.decision == "approved" and payload.get("approved") is True
    return event.decision == "edited" and event.input is not None and bool(decode(event.input) == edited)
