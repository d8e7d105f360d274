"""Offering the built-in tool that reads on in large results."""

from __future__ import annotations

from dataclasses import replace

from turnkeeper.driver.loop import Plan
from turnkeeper.tools import READ_RESULT, Registry

__all__ = ("SMALLEST_HEAD", "with_reading")

SMALLEST_HEAD = 200


def with_reading(plan: Plan, registry: Registry, head: int | None) -> tuple[Plan, Registry]:
    """The plan and the tools for a conversation whose large results are kept.

    They are as before without a `head`, without tools that run here, and where a tool has the built-in one's name. The
    tool is offered from the first request on: tools that change break off the cached prompt, and what thinking is bound
    to.
    """
    if head is None or not registry.tools or READ_RESULT.name in registry.names:
        return plan, registry
    more = registry.plus(READ_RESULT)
    body = plan.body.with_tools(more.definitions)
    return replace(plan, body=body, names=more.names, result_head=head), more
