"""The cases of all rules, gathered from one module per area."""

from __future__ import annotations

from tests.simulator.rules.asked import Case
from tests.simulator.rules.cases import (
    blocks,
    cache,
    fields,
    history,
    images,
    limits,
    results,
    schemas,
    server_tools,
    system_role,
    thinking_back,
    thinking_config,
    tool_choice,
    tools,
    transport,
)

__all__ = ("CASES",)

CASES: tuple[Case, ...] = (
    *transport.CASES,
    *fields.CASES,
    *blocks.CASES,
    *tools.CASES,
    *schemas.CASES,
    *tool_choice.CASES,
    *thinking_config.CASES,
    *limits.CASES,
    *history.CASES,
    *system_role.CASES,
    *results.CASES,
    *server_tools.CASES,
    *thinking_back.CASES,
    *cache.CASES,
    *images.CASES,
)
