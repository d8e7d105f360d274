"""Cases of the request's members: presence, type, unknown ones, and the order in which they are reported."""

from __future__ import annotations

from tests.simulator.rules.asked import NEW, OLD, Case, ask, assistant, refused, taken, user

__all__ = ("CASES",)

_SHAPE = "Input does not match the expected shape."
_TIERS = "Input should be 'auto' or 'standard_only'"

_BETA = {**NEW, "anthropic-beta": "compact-2026-01-12"}


def _compacting(tokens: int) -> dict[str, object]:
    return {"edits": [{"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": tokens}}]}


CASES: tuple[Case, ...] = (
    taken("request.model", "a known id", ask()),
    refused("request.model", "absent", ask(without=["model"]), "model", "model: Field required"),
    refused("request.model", "null", ask(model=None), "model", "model: Input should be a valid string"),
    refused("request.model", "blank", ask(model=" "), "model", "model: String should have at least 1 character"),
    refused(
        "request.model",
        "reported before tool_choice",
        ask(tool_choice=7, model=7),
        "model",
        "model: Input should be a valid string",
    ),
    taken("request.messages", "text and blocks", ask(user("a"), user([{"type": "text", "text": "б"}]))),
    refused("request.messages", "absent", ask(without=["messages"]), "messages", "messages: Field required"),
    refused("request.messages", "a string", ask(messages="x"), "messages", "messages: Input should be a valid array"),
    refused(
        "request.messages",
        "reported before system",
        ask(system=7, messages="x"),
        "messages",
        "messages: Input should be a valid array",
    ),
    refused(
        "request.messages",
        "a message that is no object",
        ask("привет"),
        "messages.0",
        "messages.0: Input should be an object",
    ),
    refused(
        "request.messages", "no role", ask({"content": "ping"}), "messages.0.role", "messages.0.role: Field required"
    ),
    refused(
        "request.messages",
        "another dialect's role",
        ask({"role": "developer", "content": "x"}),
        "messages.0.role",
        'messages: Unexpected role "developer". Allowed roles are "user" or "assistant"',
    ),
    refused(
        "request.messages",
        "no content",
        ask({"role": "user"}),
        "messages.0.content",
        "messages.0.content: Field required",
    ),
    refused(
        "request.messages",
        "content null",
        ask(user(None)),
        "messages.0.content",
        "messages.0.content: Input should be a valid array",
    ),
    refused(
        "request.messages",
        "a member that messages don't have",
        ask({**user(), "имя": "Аня"}),
        "messages.0.имя",
        "messages.0.имя: Extra inputs are not permitted",
    ),
    taken("request.system", "a string", ask(system="Отвечай коротко.")),
    taken("request.system", "text blocks", ask(system=[{"type": "text", "text": "短く答えて"}])),
    refused("request.system", "null", ask(system=None), "system", "system: Input should be a valid array"),
    refused(
        "request.system",
        "an image",
        ask(system=[{"type": "image"}]),
        "system.0",
        "system.0: Input tag 'image' found using 'type' does not match any of the expected tags: 'text'",
    ),
    refused(
        "request.system",
        "reported before thinking",
        ask(thinking="x", system=7),
        "system",
        "system: Input should be a valid array",
    ),
    taken(
        "request.output-config",
        "effort and a schema",
        ask(
            output_config={
                "effort": "low",
                "format": {"type": "json_schema", "schema": {"type": "object", "additionalProperties": False}},
            }
        ),
    ),
    refused("request.output-config", "a string", ask(output_config="x"), "output_config", f"output_config: {_SHAPE}"),
    refused(
        "request.output-config",
        "an effort that doesn't exist",
        ask(output_config={"effort": "minimal"}),
        "output_config.effort",
        "output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'",
    ),
    refused(
        "request.output-config",
        "a format without a schema",
        ask(output_config={"format": {"type": "json_schema"}}),
        "output_config.format.schema",
        "output_config.format.schema: Field required",
    ),
    taken("request.cache-control", "an hour", ask(cache_control={"type": "ephemeral", "ttl": "1h"})),
    refused(
        "request.cache-control",
        "a string",
        ask(cache_control="x"),
        "cache_control",
        "cache_control: Input should be an object",
    ),
    refused(
        "request.cache-control",
        "two hours",
        ask(cache_control={"type": "ephemeral", "ttl": "2h"}),
        "cache_control.ephemeral.ttl",
        "cache_control.ephemeral.ttl: Input should be '5m' or '1h'",
    ),
    refused(
        "request.cache-control",
        "a scope",
        ask(cache_control={"type": "ephemeral", "scope": "global"}),
        "cache_control.ephemeral.scope",
        "cache_control.ephemeral.scope: Extra inputs are not permitted",
    ),
    taken("request.max-tokens", "0, to fill the cache", ask(max_tokens=0)),
    taken("request.max-tokens", "absent when counting", ask(without=["max_tokens"]), endpoint="count_tokens"),
    refused("request.max-tokens", "absent", ask(without=["max_tokens"]), "max_tokens", "max_tokens: Field required"),
    refused(
        "request.max-tokens", "true", ask(max_tokens=True), "max_tokens", "max_tokens: Input should be a valid integer"
    ),
    refused(
        "request.max-tokens",
        "below 0",
        ask(max_tokens=-1),
        "max_tokens",
        "max_tokens: must be greater than or equal to 0",
    ),
    taken("request.metadata", "a user's id", ask(metadata={"user_id": "u-1"})),
    refused("request.metadata", "a string", ask(metadata="x"), "metadata", f"metadata: {_SHAPE}"),
    refused(
        "request.metadata",
        "other data",
        ask(metadata={"город": "Берлин"}),
        "metadata.город",
        "metadata.город: Extra inputs are not permitted",
    ),
    refused(
        "request.metadata",
        "an id that is a number",
        ask(metadata={"user_id": 7}),
        "metadata.user_id",
        "metadata.user_id: Input should be a valid string",
    ),
    taken("request.stop-sequences", "in any script", ask(stop_sequences=["СТОП", "。"])),
    refused(
        "request.stop-sequences",
        "a string",
        ask(stop_sequences="ZZ"),
        "stop_sequences",
        "stop_sequences: Input should be a valid array",
    ),
    refused(
        "request.stop-sequences",
        "a number in the list",
        ask(stop_sequences=["a", 1]),
        "stop_sequences.1",
        "stop_sequences.1: Input should be a valid string",
    ),
    taken("request.service-tier", "standard only", ask(service_tier="standard_only")),
    refused("request.service-tier", "null", ask(service_tier=None), "service_tier", f"service_tier: {_TIERS}"),
    taken("request.speed", "null", ask(speed=None)),
    refused("request.speed", "slow", ask(speed="slow"), "speed", "speed: Input should be 'standard' or 'fast'"),
    taken("request.sampling-values", "numbers", ask(model="claude-haiku-4-5", temperature=0.5), headers=OLD),
    refused(
        "request.sampling-values",
        "above 1",
        ask(model="claude-haiku-4-5", temperature=2),
        "temperature",
        "temperature: range: 0..1",
        headers=OLD,
    ),
    refused(
        "request.sampling-values",
        "a string",
        ask(model="claude-haiku-4-5", top_k="5"),
        "top_k",
        "top_k: Input should be a valid integer",
        headers=OLD,
    ),
    taken("request.stream", "true", ask(stream=True)),
    refused("request.stream", "a word", ask(stream="yes"), "stream", "stream: Input should be a valid boolean"),
    taken("request.inference-geo", "a region", ask(inference_geo="us")),
    refused(
        "request.inference-geo",
        "a number",
        ask(inference_geo=7),
        "inference_geo",
        "inference_geo: Input should be a valid string",
    ),
    taken("request.diagnostics", "on the first turn", ask(diagnostics={"previous_message_id": None})),
    refused(
        "request.diagnostics",
        "another member",
        ask(diagnostics={"id": "msg_1"}),
        "diagnostics.id",
        "diagnostics.id: Extra inputs are not permitted",
    ),
    taken("request.unsimulated-field", "none of them", ask()),
    refused(
        "request.unsimulated-field",
        "context management",
        ask(context_management={"edits": []}),
        "context_management",
        "context_management: Extra inputs are not permitted",
    ),
    refused(
        "request.unsimulated-field",
        "MCP servers",
        ask(mcp_servers=[]),
        "mcp_servers",
        "mcp_servers: Extra inputs are not permitted",
    ),
    taken(
        "request.compaction",
        "a trigger of the least size",
        ask(context_management=_compacting(50_000)),
        headers=_BETA,
    ),
    refused(
        "request.compaction",
        "a trigger that is too small",
        ask(context_management=_compacting(49_999)),
        "context_management.edits.0.trigger.value",
        "context_management.edits.0.trigger.value: Input should be greater than or equal to 50000",
        headers=_BETA,
    ),
    taken(
        "request.compaction",
        "a summary that is sent back",
        ask(user(), assistant([{"type": "compaction", "content": "Было"}]), user()),
        headers=_BETA,
    ),
    taken("request.unknown-field", "every known one", ask(metadata={}, stream=False, service_tier="auto")),
    refused(
        "request.unknown-field",
        "a misspelt member",
        ask(max_token=5),
        "max_token",
        "max_token: Extra inputs are not permitted",
    ),
    refused(
        "request.unknown-field",
        "max_tokens when counting",
        ask(),
        "max_tokens",
        "max_tokens: Extra inputs are not permitted",
        endpoint="count_tokens",
    ),
)
