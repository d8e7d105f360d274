"""Which calls need a person: the tool's policy, asked with the very arguments that would run."""

from __future__ import annotations

import hashlib
import inspect
import logging
from collections.abc import Callable, Mapping
from types import CodeType
from typing import Any

from turnkeeper.tools import Tool
from turnkeeper.tools.threads import call_within
from turnkeeper.types import Principal

__all__ = ("POLICY_SECONDS", "may_be_asked", "needs_approval", "version_of")

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


async def may_be_asked(
    tool: Tool, arguments: Mapping[str, Any], principal: Principal | None, conversation: str
) -> bool:
    """Whether a person may be asked about the call after text from outside was read; False refuses it.

    That is what the function in `when_untrusted=` says; one that fails, or takes longer than `POLICY_SECONDS`, asks.
    """
    rule = tool.when_untrusted
    if not callable(rule):
        return True
    try:
        return bool(await call_within(POLICY_SECONDS, rule, arguments, principal, conversation))
    except Exception as error:  # noqa: BLE001 - whatever it is, the call must not run unasked
        _log.warning("when_untrusted of tool %s failed (%s): the call waits", tool.name, type(error).__name__)
        return True


def version_of(policy: str | Callable[..., Any] | None) -> str:
    """Which version of a policy is at work, for the record.

    The `version` of the function or of the object whose method it is, where the application has given one; else twelve
    hexadecimal digits of a hash over the function's name and source. What a closure or an object holds is not in it.
    """
    if policy is None or isinstance(policy, str):
        return policy or "never"
    given = getattr(policy, "version", None) or getattr(getattr(policy, "__self__", None), "version", None)
    if given is not None:
        return str(given)
    function = inspect.unwrap(policy)
    try:
        body = inspect.getsource(function)
    except (OSError, TypeError):  # typed into a shell, compiled, or an object that is called
        code = getattr(function, "__code__", None)
        if isinstance(code, CodeType):
            constants = [one for one in code.co_consts if not isinstance(one, CodeType)]
            body = f"{code.co_code.hex()} {constants!r} {code.co_names!r}"
        else:
            body = type(function).__qualname__
    name = f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', '')}"
    return hashlib.sha256(f"{name}\n{body}".encode()).hexdigest()[:12]
