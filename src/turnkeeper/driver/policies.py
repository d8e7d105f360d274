"""Which calls need a person: the tool's policy, asked with the very arguments that would run."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from turnkeeper.tools import Tool
from turnkeeper.tools.threads import call_within
from turnkeeper.types import Principal

__all__ = ("POLICY_SECONDS", "needs_approval")

_log = logging.getLogger("turnkeeper")

POLICY_SECONDS = 30.0
"""How long a policy may take to say whether a call needs approval."""


async def needs_approval(
    tool: Tool, arguments: Mapping[str, Any], principal: Principal | None, conversation: str
) -> str:
    """Why the call needs approval, in a few words; empty if it does not.

    `approval=` is None or `"never"`, `"always"`, or a function of (arguments, principal, conversation id), sync (in a
    worker thread) or async, that gives a bool or the reason (an OwnConfirmation says that the person for whom the call
    would run may confirm it). A function that fails, or takes longer than
    `POLICY_SECONDS`, asks for approval: better one question too many.
    """
    policy: str | Callable[..., Any] | None = tool.approval
    if policy is None or policy == "never":
        return ""
    if not callable(policy):
        return "always"
    name = getattr(policy, "__name__", "policy")
    try:  # in a thread if it is sync: it may look something up
        found = await call_within(POLICY_SECONDS, policy, arguments, principal, conversation)
    except Exception as error:  # noqa: BLE001 - whatever it is, the call must not run unasked
        kind = type(error).__name__
        _log.warning("the approval policy %s of tool %s failed (%s): the call waits", name, tool.name, kind)
        return f"{name} took too long" if isinstance(error, TimeoutError) else f"{name} failed"
    if isinstance(found, str):
        return found
    return name if found else ""
