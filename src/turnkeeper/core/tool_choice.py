"""`tool_choice`: from what a caller writes to what is sent, and which combinations are refused before anything is.

Facts: `types/tool_choice_*_param.py` of the official SDK; platform docs, agents-and-tools/tool-use/define-tools.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from turnkeeper.errors import ConfigurationError
from turnkeeper.types import ToolChoice

__all__ = ("check_tool_choice", "choice_for_request", "parse_tool_choice")

_WORDS = ("auto", "any", "none")


def parse_tool_choice(choice: ToolChoice, *, disable_parallel: bool = False) -> dict[str, Any]:
    """The API's object for `auto`, `any`, `none`, a tool's name, or the API's own object."""
    if isinstance(choice, str):
        given: dict[str, Any] = {"type": choice} if choice in _WORDS else {"type": "tool", "name": choice}
    elif isinstance(choice, dict) and choice.get("type") in (*_WORDS, "tool"):
        given = dict(choice)
    else:
        raise ConfigurationError(
            f"tool_choice must be 'auto', 'any', 'none', a tool's name or the API's object, not {choice!r}"
        )
    if given["type"] == "tool" and not given.get("name"):
        raise ConfigurationError("tool_choice of type 'tool' needs the tool's name")
    if disable_parallel and given["type"] != "none":
        given["disable_parallel_tool_use"] = True
    return given


def check_tool_choice(
    choice: dict[str, Any], *, names: Collection[str], model: str, forced_support: str, thinking: str | None
) -> None:
    """Refuse what the API would refuse. `forced_support`: `yes`, `no`, `not_with_thinking` or `unknown`, per model."""
    kind = choice["type"]
    if kind not in ("any", "tool"):
        return
    said = f"tool_choice {choice['name']!r}" if kind == "tool" else "tool_choice 'any'"
    if not names:
        raise ConfigurationError(f"{said} needs tools, and none are given")
    if kind == "tool" and choice["name"] not in names:
        raise ConfigurationError(f"{said} is not among the tools: {', '.join(sorted(names))}")
    if forced_support == "no":
        raise ConfigurationError(
            f"{said}: the model {model} refuses a forced choice (400). Use 'auto' and say in the prompt which"
            " tool to use, or choose a model that takes it (`turnkeeper models`)."
        )
    if thinking == "enabled" or (forced_support == "not_with_thinking" and thinking not in (None, "disabled")):
        raise ConfigurationError(
            f"{said} can't be forced while thinking is on for {model}; switch thinking off or use 'auto'"
        )


def choice_for_request(choice: dict[str, Any], *, has_tools: bool, forced: bool) -> dict[str, Any] | None:
    """What this request carries: a forced choice only until the turn's first kept reply, so that it can't loop."""
    if not has_tools:
        return None
    if choice["type"] in ("any", "tool") and not forced:
        choice = {"type": "auto"} | (
            {"disable_parallel_tool_use": True} if choice.get("disable_parallel_tool_use") else {}
        )
    return None if choice == {"type": "auto"} else choice
