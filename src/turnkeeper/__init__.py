"""Turnkeeper: multi-turn tool conversations with Claude that survive anything.

The names below are the contract; everything else is private or in a named submodule (`turnkeeper.errors`,
`turnkeeper.updates`, `turnkeeper.tagged`, `turnkeeper.testing`, `turnkeeper.desk`, `turnkeeper.mcp`,
`turnkeeper.research`, `turnkeeper.sms`, `turnkeeper.telemetry`, `turnkeeper.workers`). Each loads when it is first
used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from turnkeeper import errors, mcp, redaction, tagged, testing, updates, workers
    from turnkeeper.core.retries import RetryPolicy
    from turnkeeper.driver.agent import Agent
    from turnkeeper.driver.conversation import Conversation
    from turnkeeper.driver.inbox import WorkedOff
    from turnkeeper.driver.keeper import Keeper
    from turnkeeper.driver.lesson import run_conversation
    from turnkeeper.driver.reply import CallRecord, Reply
    from turnkeeper.driver.turn import Turn
    from turnkeeper.errors import APIError, ToolError, TurnkeeperError
    from turnkeeper.tools import ContentBlock, Injected, Tool, ToolContext, tool
    from turnkeeper.types import Limits, OwnConfirmation, Principal, TurnStatus, Usage

__all__ = (
    "APIError",
    "Agent",
    "CallRecord",
    "ContentBlock",
    "Conversation",
    "Injected",
    "Keeper",
    "Limits",
    "OwnConfirmation",
    "Principal",
    "Reply",
    "RetryPolicy",
    "Tool",
    "ToolContext",
    "ToolError",
    "Turn",
    "TurnStatus",
    "TurnkeeperError",
    "Usage",
    "WorkedOff",
    "errors",
    "mcp",
    "redaction",
    "run_conversation",
    "tagged",
    "testing",
    "tool",
    "updates",
    "workers",
)

_HOMES = {
    "APIError": "turnkeeper.errors",
    "Agent": "turnkeeper.driver.agent",
    "CallRecord": "turnkeeper.driver.reply",
    "ContentBlock": "turnkeeper.tools",
    "Conversation": "turnkeeper.driver.conversation",
    "Injected": "turnkeeper.tools",
    "Keeper": "turnkeeper.driver.keeper",
    "Limits": "turnkeeper.types",
    "OwnConfirmation": "turnkeeper.types",
    "Principal": "turnkeeper.types",
    "Reply": "turnkeeper.driver.reply",
    "RetryPolicy": "turnkeeper.core.retries",
    "Tool": "turnkeeper.tools",
    "ToolContext": "turnkeeper.tools",
    "ToolError": "turnkeeper.errors",
    "Turn": "turnkeeper.driver.turn",
    "TurnStatus": "turnkeeper.types",
    "TurnkeeperError": "turnkeeper.errors",
    "Usage": "turnkeeper.types",
    "WorkedOff": "turnkeeper.driver.inbox",
    "run_conversation": "turnkeeper.driver.lesson",
    "tool": "turnkeeper.tools",
}
_MODULES = frozenset({"errors", "mcp", "redaction", "tagged", "testing", "updates", "workers"})


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"turnkeeper.{name}")
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'turnkeeper' has no attribute {name!r}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
