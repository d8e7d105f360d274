"""From a call as the model asked for it to one that may run: known, allowed, with valid arguments, approved."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from turnkeeper.core.answers import NOT_ALLOWED, TAMPERED, TOO_MANY_ASKED, invalid_input, unknown_tool
from turnkeeper.core.approvals import approval_id, digest_of
from turnkeeper.core.calls import Call, CallState
from turnkeeper.core.events import ApprovalRequested
from turnkeeper.core.identity import reaches
from turnkeeper.core.trust import TRUST_VERSION, reason_to_ask
from turnkeeper.driver.policies import may_be_asked, needs_approval, version_of
from turnkeeper.driver.standing import hidden_from
from turnkeeper.driver.waiting import as_dict
from turnkeeper.errors import ArgumentsRejectedError
from turnkeeper.tools import Registry, Tool, check_arguments
from turnkeeper.types import LEVELS, OwnConfirmation, Principal
from turnkeeper.updates import ApprovalNeeded
from turnkeeper.wire.json import decode, encode

__all__ = ("Preparer", "Ready", "Rejection")


@dataclass(frozen=True, slots=True)
class Ready:
    """A call that may run: its tool, its validated arguments, its input as it came, and for whom it runs."""

    call: Call
    tool: Tool
    arguments: Mapping[str, Any]
    input: Any
    who: Principal | None


@dataclass(frozen=True, slots=True)
class Rejection:
    """A call that is not run: a stable word, and what the model is told."""

    reason: str
    text: str


class Preparer:
    """Checks calls for one conversation, each for whoever is talking when it is checked."""

    def __init__(
        self,
        *,
        registry: Registry,
        conversation_id: str,
        clock: Callable[[], float],
        approval_seconds: float,
    ) -> None:
        self._registry = registry
        self._conversation_id = conversation_id
        self._clock = clock
        self._approval_seconds = approval_seconds

    @property
    def registry(self) -> Registry:
        """The tools there are."""
        return self._registry

    def prepare(self, call: Call, blocks: Sequence[str], who: Principal | None) -> Ready | Rejection:
        """Check one call of `who`; the model can repair what the rejection names."""
        tool = self._registry.get(call.name)
        if tool is None:
            hidden = hidden_from(self._registry, who)
            return Rejection(
                "unknown_tool", unknown_tool(call.name, [one for one in self._registry.names if one not in hidden])
            )
        if not reaches(who, tool.requires):
            return Rejection("not_allowed", NOT_ALLOWED)
        if call.edited_input is not None:
            given = decode(call.edited_input)
        elif call.invalid_input is not None:
            return Rejection("bad_arguments", invalid_input(call.invalid_input))
        else:
            given = decode(blocks[call.index]).get("input")
        approved = call.state in (CallState.APPROVED, CallState.EDITED) and call.digest is not None
        if approved and self._digest(call, given, who) != call.digest:
            return Rejection("not_allowed", TAMPERED)
        try:
            return Ready(call, tool, check_arguments(tool, given), given, who)
        except ArgumentsRejectedError as error:
            return Rejection("bad_arguments", str(error))

    async def approval_for(self, one: Ready) -> ApprovalRequested | Rejection | None:
        """The request for approval that this call needs, None if it may run now, a rejection if nobody may be asked."""
        if one.call.state is not CallState.REQUESTED:
            return None
        who = one.who
        policy = await needs_approval(one.tool, one.arguments, who, self._conversation_id)
        reason = "" if one.tool.when_untrusted == "run" else reason_to_ask(one.tool.effect, one.call.untrusted)
        version = version_of(one.tool.approval) if policy else TRUST_VERSION
        if not policy and reason:
            if not await may_be_asked(one.tool, one.arguments, who, self._conversation_id):
                return Rejection("not_allowed", TOO_MANY_ASKED)
            policy = OwnConfirmation(reason, level=_level(who))
        if not policy:
            return None
        now = self._clock()
        return ApprovalRequested(
            at=now,
            approval_id=approval_id(self._conversation_id, one.call.id),
            call_id=one.call.id,
            tool=one.tool.name,
            input=encode(one.input),
            digest=self._digest(one.call, one.input, who),
            policy=str(policy),
            expires_at=now + self._approval_seconds,
            requester=None if who is None else as_dict(who),
            requester_level=policy.level if who is not None and isinstance(policy, OwnConfirmation) else None,
            policy_version=version,
        )

    def updates_for(self, event: ApprovalRequested, one: Ready) -> tuple[ApprovalNeeded]:
        """What the caller is told of a request for approval."""
        update = ApprovalNeeded(
            approval_id=event.approval_id,
            call_id=event.call_id,
            name=event.tool,
            input=one.input,
            policy=event.policy,
            expires_at=event.expires_at,
            requester_level=event.requester_level,
        )
        return (update,)

    def _digest(self, call: Call, given: Any, who: Principal | None) -> str:
        return digest_of(self._conversation_id, call.id, call.name, encode(given), who)


def _level(who: Principal | None) -> str:
    """The level at which somebody may confirm what they asked for: no weaker than the one they asked with."""
    return who.level if who is not None and who.level in LEVELS else LEVELS[0]
