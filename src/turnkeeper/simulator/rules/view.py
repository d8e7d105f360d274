"""A request laid out for the rules: only what is well formed, with the places where it stands.

Rules about shapes read the raw body; every other rule reads this view, so that no rule stumbles over what another one
reports. Indexes are those of the lists as they were sent.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeAlias

from turnkeeper.models import Model
from turnkeeper.simulator.rules.sent import SentReplies

__all__ = ("BlockView", "Endpoint", "MessageView", "RequestView", "Turn")

Endpoint: TypeAlias = Literal["messages", "count_tokens"]

_ROLES = ("user", "assistant", "system")
_HOLDERS = frozenset({"tool_result", "search_result", "document"})


@dataclass(frozen=True, slots=True)
class BlockView:
    """A content block and its place. `message` and `index` are indexes as sent; a string content is one text block."""

    message: int
    index: int
    data: Mapping[str, Any]
    path: str
    type: str
    """The block's type; empty when it has none."""

    def text(self, key: str) -> str | None:
        """The string member of that name, or None."""
        value = self.data.get(key)
        return value if isinstance(value, str) else None

    def nested(self) -> Iterator[BlockView]:
        """The blocks inside a tool_result, search_result or document of content blocks."""
        if self.type not in _HOLDERS:
            return
        source = self.data.get("source")
        holder = source if self.type == "document" and isinstance(source, Mapping) else self.data
        middle = ".source" if holder is source else ""
        content = holder.get("content")
        for index, item in enumerate(content if isinstance(content, list) else ()):
            if isinstance(item, Mapping):
                yield _block(self.message, self.index, item, f"{self.path}{middle}.content.{index}")

    def deep(self) -> Iterator[BlockView]:
        """This block and all blocks inside it."""
        yield self
        for inner in self.nested():
            yield from inner.deep()


@dataclass(frozen=True, slots=True)
class MessageView:
    """A message with a known role; `blocks` holds its well-formed blocks, `content` what was sent."""

    index: int
    role: str
    content: Any
    blocks: tuple[BlockView, ...]

    @property
    def path(self) -> str:
        """`messages.{i}`."""
        return f"messages.{self.index}"


@dataclass(frozen=True)
class Turn:
    """Consecutive messages of one role, which the API reads as one message."""

    role: str
    messages: tuple[MessageView, ...]

    @cached_property
    def blocks(self) -> tuple[BlockView, ...]:
        """The blocks of all its messages."""
        return tuple(itertools.chain.from_iterable(message.blocks for message in self.messages))


@dataclass(frozen=True)
class RequestView:
    """One request and what is known around it.

    `saved` is set when a stored request or message list is verified and not a live request judged; `bare` when only
    messages were given. `body_bytes` and `input_tokens` are the size and the prompt's length, where they are known.
    """

    body: Mapping[str, Any]
    headers: Mapping[str, str]
    model: Model
    sent: SentReplies | None = None
    endpoint: Endpoint = "messages"
    saved: bool = False
    bare: bool = False
    body_bytes: int | None = None
    input_tokens: int | None = None
    _headers: dict[str, str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        lowered = {str(name).lower(): str(value) for name, value in self.headers.items()}
        object.__setattr__(self, "_headers", lowered)

    def header(self, name: str) -> str | None:
        """A header's value by its lower-case name."""
        return self._headers.get(name)

    @cached_property
    def version(self) -> str:
        """The `anthropic-version`; without the header the newest, as the official SDK sends it."""
        return self._headers.get("anthropic-version", "2026-10-21")

    @cached_property
    def betas(self) -> frozenset[str]:
        """The values of the `anthropic-beta` header."""
        return frozenset(part.strip() for part in self._headers.get("anthropic-beta", "").split(",")) - {""}

    def since(self, version: str) -> bool:
        """Whether the request is made under that API version or a later one."""
        return self.version >= version

    @cached_property
    def model_id(self) -> str:
        """The model as the request names it."""
        name = self.body.get("model")
        return name if isinstance(name, str) else self.model.id

    @cached_property
    def messages(self) -> tuple[MessageView, ...]:
        """The messages with a known role."""
        raw = self.body.get("messages")
        views = []
        for index, message in enumerate(raw if isinstance(raw, list) else ()):
            if isinstance(message, Mapping) and message.get("role") in _ROLES:
                content = message.get("content")
                views.append(MessageView(index, message["role"], content, tuple(_blocks(index, content))))
        return tuple(views)

    @cached_property
    def turns(self) -> tuple[Turn, ...]:
        """The messages merged where roles repeat (anthropic/types/message_create_params.py, `messages`)."""
        return tuple(
            Turn(role, tuple(group)) for role, group in itertools.groupby(self.messages, key=lambda view: view.role)
        )

    @cached_property
    def tools(self) -> tuple[tuple[int, Mapping[str, Any]], ...]:
        """The tool definitions that are objects, with their indexes."""
        raw = self.body.get("tools")
        return tuple(
            (i, tool) for i, tool in enumerate(raw if isinstance(raw, list) else ()) if isinstance(tool, Mapping)
        )

    @cached_property
    def deep_blocks(self) -> tuple[tuple[BlockView, BlockView], ...]:
        """Every block and every block inside one, in order, each with the top-level block that holds it."""
        return tuple((inner, block) for message in self.messages for block in message.blocks for inner in block.deep())

    @cached_property
    def thinking_type(self) -> str | None:
        """`thinking.type`, if it is a string."""
        return self.member("thinking", "type")

    @cached_property
    def tool_choice_type(self) -> str | None:
        """`tool_choice.type`, if it is a string."""
        return self.member("tool_choice", "type")

    @property
    def forces_tool_use(self) -> bool:
        """Whether tool_choice is any or tool."""
        return self.tool_choice_type in {"any", "tool"}

    def member(self, name: str, key: str) -> str | None:
        """A string inside an object of the body."""
        value = self.body.get(name)
        inner = value.get(key) if isinstance(value, Mapping) else None
        return inner if isinstance(inner, str) else None

    def blocks(self, *types: str, role: str | None = None) -> Iterator[BlockView]:
        """The top-level blocks of those types, in order."""
        for message in self.messages:
            if role is None or message.role == role:
                for block in message.blocks:
                    if block.type in types:
                        yield block


def _blocks(index: int, content: Any) -> Iterable[BlockView]:
    path = f"messages.{index}.content"
    if isinstance(content, str):
        yield BlockView(index, 0, {"type": "text", "text": content}, path, "text")
    elif isinstance(content, list):
        for position, block in enumerate(content):
            if isinstance(block, Mapping):
                yield _block(index, position, block, f"{path}.{position}")


def _block(message: int, index: int, data: Mapping[str, Any], path: str) -> BlockView:
    kind = data.get("type")
    return BlockView(message, index, data, path, kind if isinstance(kind, str) else "")
