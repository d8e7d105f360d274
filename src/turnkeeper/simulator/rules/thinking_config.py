"""Rules about the `thinking` member and `output_config.effort`, which differ from model to model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from turnkeeper.simulator.rules.rule import Finding, Rule, rule
from turnkeeper.simulator.rules.shapes import Checker, integer, nullable, one_of, record, string, tagged, wrong
from turnkeeper.simulator.rules.view import RequestView

__all__ = ("BINDING_BETA", "RULES", "SHAPE")

TROUBLE = "https://platform.claude.com/docs/en/build-with-claude/thinking-troubleshooting"
ERRORS = "https://platform.claude.com/docs/en/api/errors"
EFFORT = "https://platform.claude.com/docs/en/build-with-claude/effort"
BINDING_BETA = "thinking-binding-controls-2026-08-01"
INTERLEAVED_BETA = "interleaved-thinking-2025-05-14"
UPDATES_BETA = "thinking-display-updates-2026-08-18"
_LEVELS = ("low", "medium", "high", "xhigh", "max")
_ADAPT = 'Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.'
_DISABLED_TEXTS = {
    "adaptive": f'"thinking.type.disabled" is not supported for this model. {_ADAPT}',
    "extended": '"thinking.type.disabled" is not supported for this model. Thinking defaults to adaptive mode when not '
    'specified; use "thinking.type.enabled" with "budget_tokens" for extended thinking.',
    "between_tools": 'To turn thinking off on this model, send "thinking": {"type": "between_tools"} instead of '
    '{"type": "disabled"}. The model does not think before responding. The short updates it writes between tool calls '
    "come back as thinking blocks.",
}


def _budget(path: str, value: object) -> Iterator[Finding]:
    faults = list(integer(path, value))
    if not faults and isinstance(value, int) and value < 1024:
        faults = [wrong(path, "Input should be greater than or equal to 1024")]
    yield from faults


def _config(view: RequestView) -> Checker:
    display = ("summarized", "omitted", *(("updates",) if UPDATES_BETA in view.betas else ()))
    shown: dict[str, Checker] = {"type": string, "display": nullable(one_of(*display))}
    if BINDING_BETA in view.betas:
        shown["block_binding"] = nullable(record({"prefix_mismatch_behavior": nullable(one_of("error", "drop_block"))}))
    return tagged(
        {
            "adaptive": record(shown),
            "enabled": record({**shown, "budget_tokens": _budget}, ("budget_tokens",)),
            "disabled": record({"type": string}),
            "between_tools": record({"type": string}),
        }
    )


@rule(
    "thinking.shape",
    source="anthropic/types/thinking_config_*_param.py (SDK 2.14.0)",
    sentence="`thinking` is adaptive, enabled (with budget_tokens of 1,024 or more), disabled or between_tools; "
    "`display` goes with the first two.",
    repair='Send {"type": "adaptive"}, or leave `thinking` out.',
)
def shape(view: RequestView) -> Iterator[Finding]:
    if "thinking" in view.body:
        yield from _config(view)("thinking", view.body["thinking"])


@rule(
    "thinking.type-supported",
    source=f"{TROUBLE}; {ERRORS}; https://platform.claude.com/docs/en/models/opus-5-5/migration-guide",
    sentence="Each model takes only some values of `thinking.type`; the catalogue lists what it rejects.",
    repair="Leave `thinking` out, or use a value that the model takes; steer with output_config.effort.",
)
def type_supported(view: RequestView) -> Iterator[Finding]:
    kind = view.thinking_type
    if kind == "between_tools" and view.model.between_tools is False:
        yield Finding("thinking.type", '"thinking.type.between_tools" is not supported for this model.')
    elif kind in view.model.thinking_rejected:
        texts = {
            "enabled": f'"thinking.type.enabled" is not supported for this model. {_ADAPT}',
            "adaptive": "adaptive thinking is not supported on this model",
            "disabled": _DISABLED_TEXTS[view.model.thinking_disabled_tail],
        }
        yield Finding("thinking.type", texts[str(kind)])


@rule(
    "thinking.off-effort",
    source=f"{TROUBLE}; https://platform.claude.com/docs/en/about-claude/models/whats-new-opus-5",
    sentence="Where thinking can be switched off, that goes with an effort of high or less.",
    repair="Lower the effort to high, or leave thinking on.",
)
def off_effort(view: RequestView) -> Iterator[Finding]:
    limit, effort = view.model.thinking_off_effort, _effort(view)
    off = view.thinking_type in {"disabled", "between_tools"} and view.thinking_type not in view.model.thinking_rejected
    if limit is not None and off and effort in _LEVELS and _LEVELS.index(effort) > _LEVELS.index(limit):
        yield Finding(
            "output_config.effort",
            f"output_config.effort '{effort}' is not supported when thinking is disabled on this model. Use effort "
            f"'{limit}' or below, or enable thinking.",
        )


@rule(
    "thinking.effort-supported",
    source=EFFORT,
    sentence="Each model takes only some effort levels, and some take none.",
    repair="Use a level that the text names, or leave `effort` out.",
)
def effort_supported(view: RequestView) -> Iterator[Finding]:
    levels, effort = view.model.effort_levels, _effort(view)
    if effort not in _LEVELS or levels is None or effort in levels:
        return
    if not levels:
        yield Finding("output_config.effort", "This model does not support the effort parameter.")
    else:
        yield Finding(
            "output_config.effort",
            f"This model does not support effort level '{effort}'. Supported levels: {', '.join(sorted(levels))}.",
        )


def _effort(view: RequestView) -> str | None:
    return view.member("output_config", "effort")


@rule(
    "thinking.budget-below-max-tokens",
    source="https://platform.claude.com/docs/en/build-with-claude/extended-thinking; "
    "https://github.com/liuw1535/antigravity2api-nodejs/issues/149",
    sentence="`budget_tokens` is less than `max_tokens`, except with interleaved manual thinking.",
    repair="Raise max_tokens above the budget, or lower the budget.",
)
def budget_below_max_tokens(view: RequestView) -> Iterator[Finding]:
    thinking, most = view.body.get("thinking"), view.body.get("max_tokens")
    budget = thinking.get("budget_tokens") if isinstance(thinking, Mapping) else None
    if view.thinking_type != "enabled" or not isinstance(budget, int) or not isinstance(most, int):
        return
    if budget >= most > 0 and INTERLEAVED_BETA not in view.betas:
        yield Finding(
            "thinking.budget_tokens",
            "`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation at "
            "https://docs.claude.com/en/docs/build-with-claude/extended-thinking#max-tokens-and-context-window-size",
        )


SHAPE: Rule = shape
RULES: tuple[Rule, ...] = (type_supported, off_effort, effort_supported, budget_below_max_tokens)
