"""Cases of token limits."""

from __future__ import annotations

import dataclasses

from tests.simulator.rules.asked import Case, ask, refused, taken, tool
from turnkeeper.models import find

__all__ = ("CASES",)

_OLDER = dataclasses.replace(find("claude-haiku-4-5"), window_overflow="refused")
_SCHEMA = {"type": "object", "additionalProperties": False}

CASES: tuple[Case, ...] = (
    taken("limits.max-tokens", "the most", ask(max_tokens=128_000, stream=True)),
    refused(
        "limits.max-tokens",
        "one more",
        ask(model="claude-haiku-4-5-20251001", max_tokens=64_001),
        "max_tokens",
        "max_tokens: 64001 > 64000, which is the maximum allowed number of output tokens for claude-haiku-4-5-20251001",
    ),
    taken("limits.pre-warm", "nothing beside", ask(max_tokens=0, thinking={"type": "adaptive"}, stream=False)),
    refused(
        "limits.pre-warm",
        "streamed",
        ask(max_tokens=0, stream=True),
        "stream",
        "max_tokens: 0 is not supported together with `stream`",
    ),
    refused(
        "limits.pre-warm",
        "with manual thinking",
        ask(model="claude-opus-4-6", max_tokens=0, thinking={"type": "enabled", "budget_tokens": 1_024}),
        "thinking",
        "max_tokens: 0 is not supported together with `thinking`",
    ),
    refused(
        "limits.pre-warm",
        "with an output format",
        ask(max_tokens=0, output_config={"format": {"type": "json_schema", "schema": _SCHEMA}}),
        "output_config.format",
        "max_tokens: 0 is not supported together with `output_config.format`",
    ),
    refused(
        "limits.pre-warm",
        "with forced tool use",
        ask(model="claude-opus-5", max_tokens=0, tools=[tool()], tool_choice={"type": "any"}),
        "tool_choice",
        "max_tokens: 0 is not supported together with `tool_choice`",
    ),
    taken("limits.prompt-length", "a full window", ask(), input_tokens=1_000_000),
    refused(
        "limits.prompt-length",
        "one token more",
        ask(model="claude-haiku-4-5"),
        "messages",
        "prompt is too long: 200001 tokens > 200000 maximum",
        input_tokens=200_001,
    ),
    taken("limits.window-overflow", "from Claude 4.5 on", ask(model="claude-haiku-4-5"), input_tokens=199_999),
    refused(
        "limits.window-overflow",
        "before",
        ask(model="claude-haiku-4-5"),
        "max_tokens",
        "input length and `max_tokens` exceed context limit: 199999 + 1000 > 200000, decrease input length or "
        "`max_tokens` and try again",
        input_tokens=199_999,
        model=_OLDER,
    ),
)
