"""Compatible endpoints, as data: how each of them deviates from the Messages API.

They check almost nothing and disagree about ids, stop reasons, usage and `tool_choice`. Each row names the project's
documentation, source or a reported fault. Hazards that no report ties to one endpoint (zero or absent usage, a `[DONE]`
line, extra fields) are spread over the rows, so that each of them is met somewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from turnkeeper.errors import InputError

__all__ = ("IMITATIONS", "Imitation", "RefusedChoice", "find_imitation")


@dataclass(frozen=True, slots=True)
class RefusedChoice:
    """How an endpoint answers a `tool_choice` that it can't take; `message` is a format of `{choice}`."""

    status: int
    type: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Imitation:
    """One endpoint's deviations.

    `call_id` is a format of `{name}`, `{n}` (counts from 0 in each reply) and `{id}` (a fresh id). `ignored` names
    request fields that never reach the model. `streamed_stop_reason` replaces the stop reason of streamed replies
    with calls. `choices` says for a type of `tool_choice` as which other type it reaches the model (`auto`: as none at
    all), or how it is refused; the types that aren't there reach it as they are.
    """

    name: str
    source: str
    count_tokens: bool
    call_id: str = "{id}"
    call_prefix: str = "toolu"
    message_prefix: str = "msg"
    usage: Literal["estimate", "zero", "absent"] = "estimate"
    stop_reasons: Mapping[str, str] = field(default_factory=dict)
    streamed_stop_reason: str | None = None
    empty_leading_text: bool = False
    done_line: bool = False
    ignored: tuple[str, ...] = ()
    choices: Mapping[str, str | RefusedChoice] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)

    def refusal_of(self, body: Mapping[str, Any]) -> tuple[RefusedChoice, str] | None:
        """How the endpoint refuses this request's choice, and in what words; None if it doesn't."""
        choice = body.get("tool_choice")
        found = self.choices.get(str(choice.get("type"))) if isinstance(choice, Mapping) else None
        return (found, found.message.format(choice=choice)) if isinstance(found, RefusedChoice) else None

    def seen(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """The request as it reaches the model."""
        kept = {key: value for key, value in body.items() if key not in self.ignored}
        choice = kept.get("tool_choice")
        known = self.choices.get(str(choice.get("type"))) if isinstance(choice, Mapping) else None
        if known == "auto":
            del kept["tool_choice"]
        elif isinstance(known, str):
            kept["tool_choice"] = {"type": known}
        return kept


ONLY_THREE = {
    "pause_turn": "end_turn",
    "refusal": "end_turn",
    "stop_sequence": "end_turn",
    "model_context_window_exceeded": "max_tokens",
    "compaction": "end_turn",
}
"""Endpoints that know end_turn, max_tokens and tool_use only."""

IMITATIONS: Mapping[str, Imitation] = {
    row.name: row
    for row in (
        Imitation(
            name="ollama",
            source="https://github.com/ollama/ollama/blob/main/docs/api/anthropic-compatibility.mdx",
            count_tokens=False,
            call_prefix="call",
            stop_reasons=ONLY_THREE,
            # https://github.com/ollama/ollama/issues/17921: forced comes to plain text, none to calls all the same
            ignored=("tool_choice", "metadata", "cache_control"),
        ),
        Imitation(
            name="llama.cpp",
            source="https://github.com/ggml-org/llama.cpp/issues/26535",
            count_tokens=True,
            call_prefix="call",
            message_prefix="chatcmpl",
            usage="zero",
            stop_reasons=ONLY_THREE,
            # Its translation knows "required" only, for any and for a named tool, and passes over none:
            # https://github.com/ggml-org/llama.cpp/blob/master/tools/server/server-chat.cpp
            choices={"tool": "any", "none": "auto"},
            extra={"timings": {"predicted_per_second": 42.0}},
        ),
        Imitation(
            name="vllm",
            source="https://github.com/BerriAI/litellm/issues/32214",
            count_tokens=True,
            call_id="functions.{name}:{n}",
            message_prefix="chatcmpl",
            stop_reasons=ONLY_THREE,
            done_line=True,
            # Named choices fall back to auto under several tool parsers, and none was unknown to the request's shape:
            # https://github.com/vllm-project/vllm/issues/50477, https://github.com/vllm-project/vllm/issues/35836
            choices={
                "tool": "auto",
                "none": RefusedChoice(
                    400,
                    "Bad Request",
                    "[{{'type': 'literal_error', 'loc': ('body', 'tool_choice', 'type'),"
                    " 'msg': \"Input should be 'auto', 'any' or 'tool'\", 'input': 'none'}}]",
                ),
            },
            extra={"kv_transfer_params": None},
        ),
        Imitation(
            name="litellm",
            source="https://github.com/BerriAI/litellm/issues/34692",
            count_tokens=True,
            call_id="call_{n}",
            message_prefix="chatcmpl",
            usage="absent",
            stop_reasons=ONLY_THREE,
            streamed_stop_reason="end_turn",
            empty_leading_text=True,
            # https://github.com/BerriAI/litellm/issues/24443
            choices={"none": RefusedChoice(500, "api_error", "Incompatible tool choice param submitted - {choice}")},
            extra={"_hidden_params": {}},
        ),
    )
}
"""Name -> deviations."""


def find_imitation(name: str | Imitation | None) -> Imitation | None:
    """Look an imitation up by name. Raises InputError for an unknown one."""
    if name is None or isinstance(name, Imitation):
        return name
    if name not in IMITATIONS:
        raise InputError(f"imitation: {name!r} is not known; one of {', '.join(IMITATIONS)}")
    return IMITATIONS[name]
