"""Cases of the `thinking` member and of effort, model by model."""

from __future__ import annotations

from typing import Any

from tests.simulator.rules.asked import NEW, Case, ask, refused, taken

__all__ = ("CASES",)

_ADAPT = 'Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.'
_NO_ENABLED = f'"thinking.type.enabled" is not supported for this model. {_ADAPT}'
_NO_DISABLED = '"thinking.type.disabled" is not supported for this model. '
_EXTENDED = (
    'Thinking defaults to adaptive mode when not specified; use "thinking.type.enabled" with "budget_tokens" for '
    "extended thinking."
)
_BETWEEN = (
    'To turn thinking off on this model, send "thinking": {"type": "between_tools"} instead of {"type": "disabled"}. '
    "The model does not think before responding. The short updates it writes between tool calls come back as thinking "
    "blocks."
)
_BUDGET = (
    "`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation at "
    "https://docs.claude.com/en/docs/build-with-claude/extended-thinking#max-tokens-and-context-window-size"
)
_RULE = "thinking.type-supported"


def thinks(kind: str, model: str, *, effort: str | None = None, **members: Any) -> dict[str, Any]:
    body = ask(model=model, max_tokens=4_000, thinking={"type": kind, **members})
    if kind == "enabled" and "budget_tokens" not in members:
        body["thinking"]["budget_tokens"] = 1_024
    return body if effort is None else {**body, "output_config": {"effort": effort}}


def _off_effort(effort: str) -> str:
    return (
        f"output_config.effort '{effort}' is not supported when thinking is disabled on this model. Use effort 'high' "
        "or below, or enable thinking."
    )


CASES: tuple[Case, ...] = (
    taken("thinking.shape", "adaptive, shown", thinks("adaptive", "claude-opus-5", display="summarized")),
    taken(
        "thinking.shape",
        "a binding, with the beta's header",
        ask(thinking={"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}),
        headers={**NEW, "anthropic-beta": "x, thinking-binding-controls-2026-08-01"},
    ),
    refused(
        "thinking.shape",
        "a binding without the header",
        ask(thinking={"type": "adaptive", "block_binding": {}}),
        "thinking.adaptive.block_binding",
        "thinking.adaptive.block_binding: Extra inputs are not permitted",
    ),
    refused("thinking.shape", "null", ask(thinking=None), "thinking", "thinking: Input should be an object"),
    refused(
        "thinking.shape",
        "a type that doesn't exist",
        ask(thinking={"type": "hard"}),
        "thinking",
        "thinking: Input tag 'hard' found using 'type' does not match any of the expected tags: 'adaptive', "
        "'between_tools', 'disabled', 'enabled'",
    ),
    refused(
        "thinking.shape",
        "display while disabled",
        thinks("disabled", "claude-opus-5", display="omitted"),
        "thinking.disabled.display",
        "thinking.disabled.display: Extra inputs are not permitted",
    ),
    refused(
        "thinking.shape",
        "a beta's display",
        thinks("adaptive", "claude-opus-5", display="updates"),
        "thinking.adaptive.display",
        "thinking.adaptive.display: Input should be 'summarized' or 'omitted'",
    ),
    refused(
        "thinking.shape",
        "too small a budget",
        thinks("enabled", "claude-opus-4-6", budget_tokens=1_023),
        "thinking.enabled.budget_tokens",
        "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024",
    ),
    *(
        taken(_RULE, f"adaptive on {model}", thinks("adaptive", model))
        for model in (
            "claude-fable-5-2",
            "claude-haiku-5-5",
            "claude-opus-5-5",
            "claude-sonnet-5",
            "claude-opus-4-7",
            "claude-opus-4-6",
        )
    ),
    *(
        taken(_RULE, f"enabled on {model}", thinks("enabled", model))
        for model in (
            "claude-opus-4-6",
            "claude-sonnet-4-6",
            "claude-haiku-4-5",
            "claude-mythos-preview",
        )
    ),
    *(
        taken(_RULE, f"disabled on {model}", thinks("disabled", model))
        for model in (
            "claude-opus-5",
            "claude-sonnet-5",
            "claude-haiku-5-5",
            "claude-opus-4-8",
            "claude-haiku-4-5",
        )
    ),
    taken(_RULE, "between_tools on Sonnet 5.5", thinks("between_tools", "claude-sonnet-5-5")),
    *(
        refused(_RULE, f"enabled on {model}", thinks("enabled", model), "thinking.type", _NO_ENABLED)
        for model in (
            "claude-fable-5-1",
            "claude-opus-5-5",
            "claude-sonnet-5-5",
            "claude-haiku-5-5",
            "claude-fable-5",
            "claude-opus-5",
            "claude-sonnet-5",
            "claude-opus-4-8",
            "claude-opus-4-7",
        )
    ),
    *(
        refused(
            _RULE,
            f"adaptive on {model}",
            thinks("adaptive", model),
            "thinking.type",
            "adaptive thinking is not supported on this model",
        )
        for model in ("claude-opus-4-5", "claude-sonnet-4-5", "claude-haiku-4-5")
    ),
    *(
        refused(_RULE, f"disabled on {model}", thinks("disabled", model), "thinking.type", text)
        for model, text in (
            ("claude-opus-5-5", _NO_DISABLED + _ADAPT),
            ("claude-fable-5-1", _NO_DISABLED + _ADAPT),
            ("claude-fable-5", _NO_DISABLED + _EXTENDED),
            ("claude-mythos-preview", _NO_DISABLED + _EXTENDED),
            ("claude-sonnet-5-5", _BETWEEN),
        )
    ),
    refused(
        _RULE,
        "between_tools elsewhere",
        thinks("between_tools", "claude-opus-5-5"),
        "thinking.type",
        '"thinking.type.between_tools" is not supported for this model.',
    ),
    taken("thinking.off-effort", "high", thinks("disabled", "claude-opus-5", effort="high")),
    taken("thinking.off-effort", "xhigh while thinking", thinks("adaptive", "claude-haiku-5-5", effort="xhigh")),
    refused(
        "thinking.off-effort",
        "xhigh on Opus 5",
        thinks("disabled", "claude-opus-5", effort="xhigh"),
        "output_config.effort",
        _off_effort("xhigh"),
    ),
    refused(
        "thinking.off-effort",
        "max between tools",
        thinks("between_tools", "claude-sonnet-5-5", effort="max"),
        "output_config.effort",
        _off_effort("max"),
    ),
    taken("thinking.effort-supported", "max on 4.6", thinks("adaptive", "claude-opus-4-6", effort="max")),
    refused(
        "thinking.effort-supported",
        "xhigh on 4.6",
        thinks("adaptive", "claude-opus-4-6", effort="xhigh"),
        "output_config.effort",
        "This model does not support effort level 'xhigh'. Supported levels: high, low, max, medium.",
    ),
    refused(
        "thinking.effort-supported",
        "any level on Haiku 4.5",
        thinks("disabled", "claude-haiku-4-5", effort="low"),
        "output_config.effort",
        "This model does not support the effort parameter.",
    ),
    taken("thinking.budget-below-max-tokens", "one less", thinks("enabled", "claude-opus-4-6", budget_tokens=3_999)),
    taken(
        "thinking.budget-below-max-tokens",
        "more, with interleaved thinking",
        thinks("enabled", "claude-haiku-4-5", budget_tokens=9_000),
        headers={**NEW, "anthropic-beta": "interleaved-thinking-2025-05-14"},
    ),
    refused(
        "thinking.budget-below-max-tokens",
        "as many",
        thinks("enabled", "claude-opus-4-6", budget_tokens=4_000),
        "thinking.budget_tokens",
        _BUDGET,
    ),
)
