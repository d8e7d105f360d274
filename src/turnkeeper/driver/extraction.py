"""The agent's door to extraction: a type and a text in, a value of the type out."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, TypeVar, overload

from turnkeeper.driver import portal
from turnkeeper.driver.conversation import Conversation
from turnkeeper.driver.loop import Plan
from turnkeeper.tools import Registry

if TYPE_CHECKING:
    from turnkeeper.driver.extracting import Way
    from turnkeeper.tools.target import Target

__all__ = ("Extracts",)

T = TypeVar("T")


class Extracts(ABC):
    """What an agent has for extraction; it brings the plan of its turns and a conversation in memory."""

    _plan: Plan
    _registry: Registry
    _targets: dict[Any, tuple[Any, Target, tuple[Way, ...]]]

    @abstractmethod
    def _in_memory(self) -> Conversation: ...

    @abstractmethod
    def _connected(self) -> AbstractAsyncContextManager[None]: ...

    @overload
    async def extract_async(self, kind: type[T], text: str | Sequence[Mapping[str, Any]]) -> T: ...
    @overload
    async def extract_async(self, kind: Any, text: str | Sequence[Mapping[str, Any]]) -> Any: ...
    async def extract_async(self, kind: Any, text: str | Sequence[Mapping[str, Any]]) -> Any:
        """What a text says, as a value of a type: a pydantic model, a dataclass, a TypedDict, `list[…]`, a Literal, …

        `text` may be content blocks too, such as a document or an image. A mapping in place of the type is a JSON
        Schema, and the value plain JSON. By structured output where the model has it, else by a forced call; the
        agent's own tools are not offered. What doesn't fit the type, its bounds included, is asked for once more.
        ExtractionError says what came; APIError, InputError as for `run`.
        """
        return await self._extract(*self._target(kind), text)

    @overload
    def extract(self, kind: type[T], text: str | Sequence[Mapping[str, Any]]) -> T: ...
    @overload
    def extract(self, kind: Any, text: str | Sequence[Mapping[str, Any]]) -> Any: ...
    def extract(self, kind: Any, text: str | Sequence[Mapping[str, Any]]) -> Any:
        """`extract_async` for synchronous code; works inside a running event loop too (notebooks)."""
        target, given = self._target(kind)
        return portal.call(lambda: self._extract(target, given, text))

    def _target(self, kind: Any) -> tuple[Target, tuple[Way, ...]]:
        """The target of a type and the ways to it, made once."""
        from turnkeeper.driver.extracting import ways  # noqa: PLC0415 - with pydantic, where it is used
        from turnkeeper.tools.target import Target  # noqa: PLC0415

        try:
            hash(kind)
            key, known = kind, self._targets.get(kind)
        except TypeError:  # a schema, or a type with one of its annotations
            key, known = id(kind), self._targets.get(id(kind))
        if known is None or (key is not kind and known[0] is not kind):
            target = Target.for_schema(kind) if isinstance(kind, Mapping) else Target.for_type(kind)
            known = self._targets[key] = (kind, target, ways(self._plan, target))
        return known[1], known[2]

    async def _extract(self, target: Target, given: tuple[Way, ...], text: str | Sequence[Mapping[str, Any]]) -> Any:
        from turnkeeper.driver.extracting import extract  # noqa: PLC0415

        def converse(way: Way) -> Conversation:
            other = copy.copy(self)
            other._plan, other._registry = way.plan, way.registry
            return other._in_memory()

        async with self._connected():
            return await extract(target, given, text, converse)
