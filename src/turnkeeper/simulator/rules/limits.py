"""Rules about tokens: the most a reply may have, the pre-warm request, the context window."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from turnkeeper.simulator.rules.rule import Finding, Rule, rule
from turnkeeper.simulator.rules.view import RequestView

__all__ = ("RULES",)

CACHING = "https://platform.claude.com/docs/en/build-with-claude/prompt-caching#pre-warming-the-cache"


def _max_tokens(view: RequestView) -> int | None:
    value = view.body.get("max_tokens")
    usable = isinstance(value, int) and not isinstance(value, bool) and view.endpoint == "messages"
    return value if usable else None


@rule(
    "limits.max-tokens",
    source="https://platform.claude.com/docs/en/about-claude/models/overview (text as reported by users)",
    sentence="`max_tokens` is not more than the model can write.",
    repair="Lower max_tokens to the limit that the text names.",
)
def max_tokens(view: RequestView) -> Iterator[Finding]:
    asked, limit = _max_tokens(view), view.model.max_output
    if asked is not None and limit is not None and asked > limit:
        yield Finding(
            "max_tokens",
            f"max_tokens: {asked} > {limit}, which is the maximum allowed number of output tokens for {view.model_id}",
        )


@rule(
    "limits.pre-warm",
    source=CACHING,
    sentence="With max_tokens 0 (which only fills the cache) there is no stream, no manual thinking, no output format "
    "and no forced tool use.",
    repair="Remove the member that the path names from the pre-warm request.",
    text_settled=False,
)
def pre_warm(view: RequestView) -> Iterator[Finding]:
    if _max_tokens(view) != 0:
        return
    output = view.body.get("output_config")
    found = {
        "stream": view.body.get("stream") is True,
        "thinking": view.thinking_type == "enabled",
        "output_config.format": isinstance(output, Mapping) and output.get("format") is not None,
        "tool_choice": view.forces_tool_use,
    }
    for path, present in found.items():
        if present:
            yield Finding(path, f"max_tokens: 0 is not supported together with `{path}`")


@rule(
    "limits.prompt-length",
    source="https://github.com/stackblitz/bolt.new/issues/2449; "
    "https://platform.claude.com/docs/en/build-with-claude/context-windows",
    sentence="The prompt fits into the model's context window.",
    repair="Summarise or drop the oldest messages, whole turns at a time.",
    scope="envelope",
)
def prompt_length(view: RequestView) -> Iterator[Finding]:
    tokens, window = view.input_tokens, view.model.context_window
    if tokens is not None and window is not None and tokens > window:
        yield Finding("messages", f"prompt is too long: {tokens} tokens > {window} maximum")


@rule(
    "limits.window-overflow",
    source="https://github.com/continuedev/continue/issues/6080; "
    "https://platform.claude.com/docs/en/build-with-claude/context-windows",
    sentence="On models before Claude 4.5, prompt and max_tokens together fit into the window; later models take the "
    "request and stop with model_context_window_exceeded.",
    repair="Lower max_tokens, or shorten the prompt.",
    scope="envelope",
)
def window_overflow(view: RequestView) -> Iterator[Finding]:
    tokens, window, asked = view.input_tokens, view.model.context_window, _max_tokens(view)
    if view.model.window_overflow != "refused" or tokens is None or window is None or asked is None:
        return
    if tokens <= window < tokens + asked:
        yield Finding(
            "max_tokens",
            f"input length and `max_tokens` exceed context limit: {tokens} + {asked} > {window}, decrease input "
            "length or `max_tokens` and try again",
        )


RULES: tuple[Rule, ...] = (max_tokens, pre_warm, prompt_length, window_overflow)
