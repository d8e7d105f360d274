"""What people decide: approvals of calls, and the outcome of calls that nobody knows."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Sequence
from typing import Any

from turnkeeper.core.approvals import conversation_of, denied_text, digest_of, expired_text, with_note
from turnkeeper.core.calls import Call, CallState
from turnkeeper.core.events import (
    ApprovalDecided,
    ApprovalRequested,
    CallResolved,
    Event,
    TurnWoken,
)
from turnkeeper.core.identity import reaches, same_person
from turnkeeper.core.machine import Phase
from turnkeeper.driver.leasing import held, new_holder
from turnkeeper.driver.recorder import Recorder
from turnkeeper.driver.records import update_of
from turnkeeper.driver.waiting import (
    Approval,
    UnknownOutcome,
    approval_of,
    as_dict,
    may_decide,
    unknown_of,
)
from turnkeeper.errors import (
    ApprovalDecidedError,
    ApprovalExpiredError,
    ApprovalRefusedError,
    ArgumentsRejectedError,
    InputError,
    JournalError,
    UnknownApprovalError,
)
from turnkeeper.journal.port import Journal
from turnkeeper.tools import Registry, check_arguments, render_result
from turnkeeper.types import Block, Principal
from turnkeeper.wire.json import encode

__all__ = ("Approval", "Approvals", "Outcomes", "UnknownOutcome", "expire", "may_decide", "overdue")

_log = logging.getLogger("turnkeeper")

MayDecide = Callable[[Principal, Approval], bool]


class _Decisions:
    """What approvals and outcomes share: finding a parked conversation, who may decide, adding a decision under the
    lease.
    """

    def __init__(self, journal: Journal, registry: Registry, allowed: MayDecide, clock: Callable[[], float]) -> None:
        self._journal = journal
        self._registry = registry
        self._allowed = allowed
        self._now = clock

    async def _parked(
        self, conversation_id: str | None, limit: int = 0, offset: int = 0
    ) -> list[tuple[str, Recorder, list[Event]]]:
        """The conversations that wait for someone (or the one), with the events of their open turn."""
        if conversation_id is not None:
            names = [conversation_id]
        else:
            names = [summary.id for summary in await self._journal.waiting(limit=limit, offset=offset)]
        found = []
        for name in names:
            recorder = Recorder(self._journal, name)
            try:
                await recorder.load()
            except JournalError as error:
                if conversation_id is not None:
                    raise
                _log.warning("conversation %s can't be read, so what waits in it is not listed: %s", name, error)
                continue
            if recorder.state.phase is Phase.PARKED:
                found.append((name, recorder, recorder.turn_events))
        return found

    def _check(self, by: Principal, approval: Approval, to_do: str, decision: str = "") -> None:
        """ApprovalRefusedError if `by` asked for the call, or has no right to decide on it.

        Whoever asked may withdraw it where the policy leaves it to them, and confirm it if their level is enough.
        """
        if approval.requester is not None and same_person(by, approval.requester):
            if decision not in ("approved", "denied") or approval.requester_level is None:
                raise ApprovalRefusedError(f"{by.kind} {by.id!r} asked for this call and can't {to_do}")
            if decision == "approved" and not reaches(by, approval.requester_level):
                raise ApprovalRefusedError(
                    f"{by.kind} {by.id!r} has to be {approval.requester_level} to confirm this call, and is {by.level}"
                )
            return
        if not self._allowed(by, approval):
            raise ApprovalRefusedError(f"{by.kind} {by.id!r} may not decide on {approval.tool}")

    def obstacle(self, by: Principal, waiting: Approval | UnknownOutcome) -> str | None:
        """Why that person can't let it pass, as the refusal would say; None if they can."""
        try:
            if isinstance(waiting, UnknownOutcome):
                self._check(by, waiting.as_approval(), "say what became of it")
            else:
                self._check(by, waiting, "approve it", "approved")
        except ApprovalRefusedError as error:
            return str(error)
        return None

    async def _decide(self, conversation_id: str, decide: Callable[[Recorder], Event]) -> None:
        recorder = Recorder(self._journal, conversation_id)
        async with held(self._journal, conversation_id, holder=new_holder(), clock=self._now) as hold:
            recorder.token = hold.token
            await recorder.load()
            recorder.stage(decide(recorder))
            wake(recorder, self._now())
            await recorder.save()


def wake(recorder: Recorder, now: float) -> bool:
    """Let the turn go on if nobody is waited for any more."""
    turn = recorder.state.turn
    if recorder.state.phase is not Phase.PARKED or turn is None or any(call.is_waiting for call in turn.calls):
        return False
    recorder.stage(TurnWoken(at=now))
    return True


def overdue(recorder: Recorder, now: float) -> list[Call]:
    """The calls of a parked turn whose approval nobody gave in time."""
    turn = recorder.state.turn
    if turn is None or recorder.state.phase is not Phase.PARKED:
        return []
    waiting = [call for call in turn.calls if call.state is CallState.AWAITING_APPROVAL]
    return [call for call in waiting if call.expires_at is not None and call.expires_at <= now]


def expire(recorder: Recorder, now: float) -> None:
    """Stage the expiry of approvals whose time is over: they count as denied."""
    for call in overdue(recorder, now):
        if call.approval_id is not None:
            event = ApprovalDecided(
                at=now,
                approval_id=call.approval_id,
                call_id=call.id,
                decision="expired",
                content=encode(expired_text()),
            )
            recorder.stage(event, update_of(event, call.name))


class Approvals(_Decisions):
    """`keeper.approvals`: list what waits, decide. A decision is written down; the turn then goes on with `resume`."""

    async def list(self, conversation_id: str | None = None, *, limit: int = 200, offset: int = 0) -> list[Approval]:
        """The approvals that wait, the longest first; those of one conversation if it is named.

        `limit` and `offset` count waiting conversations.
        """
        now = self._now()
        return [
            approval_of(name, event)
            for name, recorder, events in await self._parked(conversation_id, limit, offset)
            for event in events
            if isinstance(event, ApprovalRequested)
            and event.expires_at > now
            and _awaits_approval(recorder, event.call_id)
        ]

    async def get(self, approval_id: str) -> Approval:
        """One that waits. UnknownApprovalError if there is none of that id."""
        return (await self._find(approval_id))[0]

    async def approve(self, approval_id: str, *, by: Principal, digest: str | None = None) -> Approval:
        """Let the call run with exactly the arguments that were shown; `digest` makes sure that they were those.

        ApprovalRefusedError for a principal without the right, or the one who asked (unless the policy leaves it to
        them, and `by` has the level for it); ApprovalDecidedError, ApprovalExpiredError, UnknownApprovalError. Nothing
        changes then.
        """
        return await self._settle(approval_id, by, "approved", digest=digest)

    async def deny(self, approval_id: str, *, by: Principal, reason: str = "") -> Approval:
        """Refuse the call; the model is told so, with the reason."""
        return await self._settle(approval_id, by, "denied", reason=reason)

    async def edit(self, approval_id: str, *, by: Principal, input: Any, reason: str = "") -> Approval:  # noqa: A002
        """Let the call run with other arguments: validated now and again when it runs; the model is told both.

        ArgumentsRejectedError says what is wrong with them.
        """
        approval = await self.get(approval_id)
        tool = self._registry.get(approval.tool)
        if tool is None:
            raise ArgumentsRejectedError(f"the tool {approval.tool!r} is not offered any more; deny the call instead")
        check_arguments(tool, input)
        return await self._settle(approval_id, by, "edited", reason=reason, given=encode(input))

    async def _find(self, approval_id: str) -> tuple[Approval, str]:
        name = conversation_of(approval_id)
        recorder = Recorder(self._journal, name)
        with contextlib.suppress(InputError):  # no conversation can have that id
            await recorder.load()
        for event in recorder.turn_events:
            if isinstance(event, ApprovalRequested) and event.approval_id == approval_id:
                approval = approval_of(name, event)
                self._open(recorder, approval)
                return approval, name
        raise UnknownApprovalError(f"no approval {approval_id!r} waits in this journal")

    async def _settle(
        self,
        approval_id: str,
        by: Principal,
        decision: str,
        *,
        reason: str = "",
        digest: str | None = None,
        given: str | None = None,
    ) -> Approval:
        approval, name = await self._find(approval_id)
        if digest is not None and digest != approval.digest:
            raise ApprovalRefusedError(f"the digest is not that of approval {approval_id}; look at the arguments again")
        to_do = {"approved": "approve it", "denied": "deny it", "edited": "edit it"}[decision]
        self._check(by, approval, "approve it" if approval.requester_level is None else to_do, decision)

        def decide(recorder: Recorder) -> Event:
            self._open(recorder, approval)
            kept = approval.digest
            if given is not None:
                kept = digest_of(name, approval.call_id, approval.tool, given, approval.requester)
            return ApprovalDecided(
                at=self._now(),
                approval_id=approval_id,
                call_id=approval.call_id,
                decision=decision,
                by=as_dict(by),
                reason=reason,
                digest=None if decision == "denied" else kept,
                input=given,
                content=encode(denied_text(reason)) if decision == "denied" else None,
            )

        await self._decide(name, decide)
        return approval

    def _open(self, recorder: Recorder, approval: Approval) -> None:
        if recorder.state.phase is not Phase.PARKED or not _awaits_approval(recorder, approval.call_id):
            raise ApprovalDecidedError(f"approval {approval.id} is decided already")
        if approval.expires_at <= self._now():
            raise ApprovalExpiredError(f"approval {approval.id} has expired; the call counts as denied")


class Outcomes(_Decisions):
    """`keeper.outcomes`: calls whose outcome is unknown; a person looks and says."""

    async def list(
        self, conversation_id: str | None = None, *, limit: int = 200, offset: int = 0
    ) -> list[UnknownOutcome]:
        """The calls that wait, the longest first; those of one conversation if it is named.

        `limit` and `offset` count waiting conversations.
        """
        return [
            unknown_of(name, recorder, call)
            for name, recorder, _ in await self._parked(conversation_id, limit, offset)
            for call in (recorder.state.turn.calls if recorder.state.turn is not None else ())
            if call.state is CallState.OUTCOME_UNKNOWN
        ]

    async def happened(
        self, conversation_id: str, call_id: str, *, by: Principal, result: Any = "done", reason: str = ""
    ) -> None:
        """The effect happened: `result` (any value that a tool may return) becomes the call's result.

        ApprovalRefusedError for a principal without the right, or the one for whom the call ran; InputError if the
        outcome is not asked for. Nothing changes then.
        """
        content = render_result(result, limit=100_000)
        await self._resolve(conversation_id, call_id, by, happened=True, content=content, reason=reason)

    async def did_not_happen(self, conversation_id: str, call_id: str, *, by: Principal, reason: str = "") -> None:
        """The effect did not happen: the call runs when the turn goes on. Errors as for `happened`."""
        await self._resolve(conversation_id, call_id, by, happened=False, content=None, reason=reason)

    async def _resolve(
        self,
        conversation_id: str,
        call_id: str,
        by: Principal,
        *,
        happened: bool,
        content: Sequence[Block] | str | None,
        reason: str,
    ) -> None:
        def decide(recorder: Recorder) -> Event:
            turn = recorder.state.turn
            call = next((one for one in (turn.calls if turn else ()) if one.id == call_id), None)
            if recorder.state.phase is not Phase.PARKED or call is None or call.state is not CallState.OUTCOME_UNKNOWN:
                raise InputError(
                    f"the outcome of call {call_id!r} in conversation {conversation_id!r} is not asked for"
                )
            self._check(by, unknown_of(conversation_id, recorder, call).as_approval(), "say what became of it")
            said = content
            if said is not None and call.edited_input is not None:
                said = with_note(call.edited_input, said)
            return CallResolved(
                at=self._now(),
                call_id=call_id,
                happened=happened,
                by=as_dict(by),
                content=None if said is None else encode(said),
                reason=reason,
            )

        await self._decide(conversation_id, decide)


def _awaits_approval(recorder: Recorder, call_id: str) -> bool:
    """Whether the call of that id waits now; one of an earlier reply of the turn has long been answered."""
    calls = recorder.state.turn.calls if recorder.state.turn is not None else ()
    return any(call.id == call_id and call.state is CallState.AWAITING_APPROVAL for call in calls)
