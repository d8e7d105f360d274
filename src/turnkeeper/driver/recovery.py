"""Calls that were under way when their program stopped: what their effect allows."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Mapping
from typing import Any

from turnkeeper.tools import Tool, ToolContext, render_result
from turnkeeper.tools.threads import call_within
from turnkeeper.types import Block

__all__ = ("RECONCILE_SECONDS", "RERUN", "NotHappenedError", "ask_the_world")

_log = logging.getLogger("turnkeeper")

RECONCILE_SECONDS = 30.0
"""How long a `reconcile` function may take to find out whether a call happened."""

RERUN = frozenset({"read", "idempotent", "transactional"})
"""Effects whose calls run again: nothing happened, or it may happen twice.

A `transactional` call that has no result has not committed its writes either.
"""


class NotHappenedError(Exception):
    """The world says that the call had no effect: it may run."""


async def ask_the_world(tool: Tool, arguments: Mapping[str, Any], context: ToolContext) -> str | list[Block] | None:
    """Ask a `reconcile` tool's own function whether the call happened.

    The function takes the tool's arguments (those it names, and `ctx`) and gives the call's result if it happened, None
    if it did not: then NotHappenedError is raised. None is returned where it can't say, because it failed, or took
    longer than `RECONCILE_SECONDS`; `ctx.cancelled` is true then.
    """
    question = tool.reconcile
    assert question is not None
    given = _accepted(question, {**arguments, "ctx": context})
    try:
        found = await call_within(RECONCILE_SECONDS, question, **given)
        if found is None:
            raise NotHappenedError
        return render_result(found, limit=tool.result_limit)
    except NotHappenedError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever it is, the outcome stays unknown
        kind = type(error).__name__
        _log.warning("the reconcile function of tool %s failed for call %s (%s)", tool.name, context.call_id, kind)
        return None
    finally:
        context.state.abandon()


def _accepted(function: Callable[..., Any], given: Mapping[str, Any]) -> dict[str, Any]:
    parameters = inspect.signature(function).parameters
    if any(one.kind is one.VAR_KEYWORD for one in parameters.values()):
        return dict(given)
    return {name: value for name, value in given.items() if name in parameters}
