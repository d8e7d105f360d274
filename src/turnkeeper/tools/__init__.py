"""Tools: functions that the model may call.

`@tool` makes a function one; `Registry` holds those of an agent; `check_arguments` and `run_call` are how a driver
runs a call. Functions stay functions: a tool can be called and tested as the plain function it was.
"""

from __future__ import annotations

from turnkeeper.errors import ArgumentsRejectedError, ToolDefinitionError, ToolError
from turnkeeper.tools.arguments import check_arguments
from turnkeeper.tools.content import ContentBlock
from turnkeeper.tools.context import Injected, ToolContext
from turnkeeper.tools.definition import Tool, tool
from turnkeeper.tools.json_forms import ITEM_LIMIT, UnrenderableError
from turnkeeper.tools.masking import mask
from turnkeeper.tools.reading import MOST_KEPT, READ_RESULT, head_of
from turnkeeper.tools.registry import Registry
from turnkeeper.tools.results import PLACEHOLDER, RESULT_LIMIT, render_result
from turnkeeper.tools.running import CLEANUP_GRACE, Outcome, run_call

__all__ = (
    "CLEANUP_GRACE",
    "ITEM_LIMIT",
    "MOST_KEPT",
    "PLACEHOLDER",
    "READ_RESULT",
    "RESULT_LIMIT",
    "ArgumentsRejectedError",
    "ContentBlock",
    "Injected",
    "Outcome",
    "Registry",
    "Tool",
    "ToolContext",
    "ToolDefinitionError",
    "ToolError",
    "UnrenderableError",
    "check_arguments",
    "head_of",
    "mask",
    "render_result",
    "run_call",
    "tool",
)
