"""The names of OpenTelemetry's GenAI conventions, by their version.

They live in a repository of their own, github.com/open-telemetry/semantic-conventions-genai, and all of them are still
in development: names change between versions, so a version is chosen and its names stand here.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ("CONVENTIONS", "NEWEST", "PROVIDER", "Convention", "Metric")

PROVIDER = "anthropic"
"""`gen_ai.provider.name`: which flavour of telemetry this is, also where a cloud platform or proxy passes it on."""

_SECONDS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
_LONG_SECONDS = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4, 204.8, 409.6)
_TOKENS = tuple(4**power for power in range(14))


@dataclass(frozen=True, slots=True)
class Metric:
    """A histogram: its name, unit, what it says, and the bounds of its buckets."""

    name: str
    unit: str
    description: str
    bounds: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Convention:
    """One version's names. The defaults are those of v0.1.0."""

    operation: str = "gen_ai.operation.name"
    provider: str = "gen_ai.provider.name"
    conversation: str = "gen_ai.conversation.id"
    agent: str = "gen_ai.agent.name"
    request_model: str = "gen_ai.request.model"
    request_stream: str = "gen_ai.request.stream"
    max_tokens: str = "gen_ai.request.max_tokens"
    settings: tuple[tuple[str, str], ...] = (
        ("temperature", "gen_ai.request.temperature"),
        ("top_p", "gen_ai.request.top_p"),
        ("top_k", "gen_ai.request.top_k"),
        ("stop_sequences", "gen_ai.request.stop_sequences"),
    )
    """Members of a request's body, and the attributes that say them."""
    response_id: str = "gen_ai.response.id"
    response_model: str = "gen_ai.response.model"
    finish_reasons: str = "gen_ai.response.finish_reasons"
    time_to_first_chunk: str = "gen_ai.response.time_to_first_chunk"
    input_tokens: str = "gen_ai.usage.input_tokens"
    """All of the input, what was read from or written to the cache too."""
    output_tokens: str = "gen_ai.usage.output_tokens"
    cache_read: str = "gen_ai.usage.cache_read.input_tokens"
    cache_creation: str = "gen_ai.usage.cache_creation.input_tokens"
    reasoning: str = "gen_ai.usage.reasoning.output_tokens"
    token_type: str = "gen_ai.token.type"
    tool: str = "gen_ai.tool.name"
    tool_type: str = "gen_ai.tool.type"
    call_id: str = "gen_ai.tool.call.id"
    arguments: str = "gen_ai.tool.call.arguments"
    result: str = "gen_ai.tool.call.result"
    system: str = "gen_ai.system_instructions"
    input_messages: str = "gen_ai.input.messages"
    output_messages: str = "gen_ai.output.messages"
    tool_definitions: str = "gen_ai.tool.definitions"
    error: str = "error.type"

    invoke_agent: str = "invoke_agent"
    chat: str = "chat"
    execute_tool: str = "execute_tool"

    agent_duration: Metric = Metric(
        "gen_ai.invoke_agent.duration", "s", "How long a stretch of work on a turn took.", _LONG_SECONDS
    )
    request_duration: Metric = Metric(
        "gen_ai.client.operation.duration", "s", "How long one try of a request took.", _SECONDS
    )
    first_chunk: Metric = Metric(
        "gen_ai.client.operation.time_to_first_chunk", "s", "From a request to the first part of its reply.", _SECONDS
    )
    later_chunk: Metric = Metric(
        "gen_ai.client.operation.time_per_output_chunk", "s", "From one part of a reply to the next.", _SECONDS
    )
    tokens: Metric = Metric("gen_ai.client.token.usage", "{token}", "Tokens that a request is billed for.", _TOKENS)
    tool_duration: Metric = Metric("gen_ai.execute_tool.duration", "s", "How long a call took.", _SECONDS)


CONVENTIONS: dict[str, Convention] = {"v0.1.0": Convention()}
"""What `Telemetry(semconv=…)` may be."""
NEWEST = "v0.1.0"
