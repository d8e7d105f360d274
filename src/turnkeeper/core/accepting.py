"""What messages may do beyond saying something: only what the application allows, for they may be a client's.

A message list that came as JSON may hold more than words and data: calls that would be run, instructions in the role of
the system, addresses that the API fetches, ids of files in the account's store, marks that make the prompt cost more.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from turnkeeper.errors import ConfigurationError, HistoryError
from turnkeeper.types import Message
from turnkeeper.wire.blocks import CLIENT_CALL
from turnkeeper.wire.json import decode

__all__ = (
    "ACCEPTABLE",
    "OwnMessage",
    "accepted",
    "check_accepted",
    "check_calls_accepted",
    "check_system_accepted",
    "given_out",
)

ACCEPTABLE = {
    "cache_control": "marks of what is kept in the cache, which make a request cost more",
    "calls": "calls without results at the end of a message list, which are run",
    "files": "files by their id in the account's store, whoever uploaded them",
    "system": "messages in the role of the system, which the model obeys as the application's",
    "urls": "images and documents by an address, which the API fetches",
}
"""What `Agent(accept=…)` may name, and what it is."""

_SOURCES = {"file": "files", "url": "urls"}


class OwnMessage(dict[str, Any]):
    """A message of the system that Turnkeeper gave out itself, and takes back: JSON from outside never is one."""


def given_out(encoded: bytes) -> list[Message]:
    """Messages, encoded and joined by commas, as a caller gets them."""
    found: list[Message] = decode("[" + encoded.decode() + "]")
    return [OwnMessage(one) if one["role"] == "system" else one for one in found]


def accepted(names: Collection[str]) -> frozenset[str]:
    """The option, checked. ConfigurationError for a name that is none."""
    found = frozenset({names} if isinstance(names, str) else names)
    if unknown := sorted(found - set(ACCEPTABLE), key=str):
        raise ConfigurationError(f"accept names {unknown[0]!r}; it may name {', '.join(ACCEPTABLE)}")
    return found


def check_accepted(blocks: Iterable[Any], path: str, accept: Collection[str]) -> None:
    """HistoryError for a block of a user's that does more than say something, where that is not accepted."""
    for index, block in enumerate(blocks):
        if isinstance(block, Mapping):
            where = f"{path}.{index}"
            if "cache_control" in block:
                _refuse_unless("cache_control", accept, "cache_control", f"{where}.cache_control")
            if "file_id" in block:
                _refuse_unless("files", accept, "a file_id", f"{where}.file_id")
            _check_source(block.get("source"), f"{where}.source", accept)
            if isinstance(content := block.get("content"), list) and block.get("type") != "tool_result":
                check_accepted(content, f"{where}.content", accept)


def _check_source(source: Any, path: str, accept: Collection[str]) -> None:
    if not isinstance(source, Mapping):
        return
    kind = source.get("type")
    if isinstance(kind, str) and kind in _SOURCES:
        _refuse_unless(_SOURCES[kind], accept, f"a source of type {kind!r}", path)
    for member, name in (("file_id", "files"), ("url", "urls")):
        if member in source:
            _refuse_unless(name, accept, f"a source with a {member}", path)
    if isinstance(content := source.get("content"), list):
        check_accepted(content, f"{path}.content", accept)


def check_system_accepted(given: Mapping[str, Any], path: str, accept: Collection[str]) -> None:
    """HistoryError for a message in the system's role that is not Turnkeeper's own, where that is not accepted."""
    if given.get("role") == "system" and not isinstance(given, OwnMessage):
        _refuse_unless("system", accept, "a message in the role of the system", path)


def check_calls_accepted(content: Any, path: str, accept: Collection[str]) -> None:
    """HistoryError for calls at the end of a list, which would be run, where that is not accepted.

    Objects of the SDK are the program's own: no JSON becomes one.
    """
    for index, block in enumerate(content if isinstance(content, list | tuple) else ()):
        if isinstance(block, Mapping) and block.get("type") == CLIENT_CALL:
            _refuse_unless("calls", accept, "a call without a result, which would be run", f"{path}.{index}")


def _refuse_unless(name: str, accept: Collection[str], what: str, path: str) -> None:
    if name not in accept:
        raise HistoryError(
            f"holds {what}; leave it out, or, if these messages are your program's and not a client's, say so with"
            f" accept=[{name!r}]",
            path=path,
        )
