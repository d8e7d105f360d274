"""Request bodies: what never changes is encoded once, the history is already encoded, the rest is a few bytes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from turnkeeper.core.history import History
from turnkeeper.errors import ConfigurationError
from turnkeeper.wire.json import encode

__all__ = ("OWN_FIELDS", "RequestBody")

OWN_FIELDS = frozenset({"model", "max_tokens", "stream", "tool_choice", "system", "tools", "messages"})
"""Fields that have an argument of their own and so can't come through `extra`."""


class RequestBody:
    """The bytes of `POST /v1/messages`, for one agent.

    Members in order: what varies per request, then system, tools and extras as they were given, then the messages.
    """

    def __init__(
        self, *, model: str, system: Any, tools: list[dict[str, Any]], extra: Mapping[str, Any], stream: bool
    ) -> None:
        taken = sorted(OWN_FIELDS & set(extra))
        if taken:
            raise ConfigurationError(f"extra may not hold {taken[0]!r}; it has an argument of its own")
        fixed = dict(extra)
        if system is not None:
            fixed["system"] = system
        if tools:
            fixed["tools"] = tools
        try:
            self._fixed = "".join(f",{encode(name)}:{encode(value)}" for name, value in fixed.items()).encode()
        except (TypeError, ValueError) as error:
            raise ConfigurationError(f"system, tools and extra must be JSON values: {error}") from error
        self._model = encode(model)
        self._stream = ',"stream":true' if stream else ""

    def encode(self, history: History, *, max_tokens: int, tool_choice: dict[str, Any] | None) -> bytes:
        """The body of the next request."""
        choice = f',"tool_choice":{encode(tool_choice)}' if tool_choice else ""
        head = f'{{"model":{self._model},"max_tokens":{max_tokens}{self._stream}{choice}'
        return b"".join((head.encode(), self._fixed, b',"messages":[', history.messages_json(), b"]}"))
