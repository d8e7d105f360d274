"""Accepted definitions of MCP tools: what a tool said of itself when it was first used, by hash, in a file to look at.

A server may change a tool's description at any time, after people have read and approved it. The first definition is
recorded; one that differs later is kept off until somebody accepts it. The file holds both versions, to be compared.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

from turnkeeper.mcp.errors import PinsDamagedError

__all__ = ("Pins", "Standing", "digest_of")

Standing = Literal["new", "accepted", "changed"]
_FORMAT = 1
_NOTE = (
    "What each MCP tool said of itself when it was accepted. A tool that says something else is not offered until"
    " `turnkeeper mcp --accept` (or a person who edits this file) takes what stands under `changed`."
)


def digest_of(definition: Mapping[str, Any]) -> str:
    """SHA-256 of a definition, whatever the order of its members."""
    text = json.dumps(definition, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


class Pins:
    """The records of one file, or of this process alone where `path` is None.

    `strict` accepts nothing by itself: a tool's first definition waits to be accepted as a changed one does.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        strict: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.path = None if path is None else Path(path)
        self._strict = strict
        self._clock = clock
        self._servers: dict[str, dict[str, Any]] = _read(self.path)

    def standing(self, server: str, tool: str, definition: Mapping[str, Any]) -> Standing:
        """Whether this definition was accepted; noted in memory, `save` writes what is new or changed."""
        digest = digest_of(definition)
        records = self._servers.setdefault(server, {})
        record = records.get(tool)
        if record is None and self._strict:
            record = records[tool] = {"sha256": digest_of({}), "accepted": "", "definition": {}}
        if record is None:
            records[tool] = {"sha256": digest, "accepted": self._today(), "definition": dict(definition)}
            return "new"
        if record["sha256"] == digest:
            record.pop("changed", None)
            return "accepted"
        if record.get("changed", {}).get("sha256") != digest:
            record["changed"] = {"sha256": digest, "seen": self._today(), "definition": dict(definition)}
        return "changed"

    def changed(self) -> dict[tuple[str, str], tuple[dict[str, Any], dict[str, Any]]]:
        """What waits to be accepted: (server, tool) -> the accepted definition and the new one."""
        return {
            (server, tool): (record["definition"], record["changed"]["definition"])
            for server, records in self._servers.items()
            for tool, record in records.items()
            if "changed" in record
        }

    def accept(self, server: str, tool: str) -> bool:
        """Take the changed definition as the accepted one; False if none waits. `save` writes it down."""
        record = self._servers.get(server, {}).get(tool, {})
        change = record.pop("changed", None)
        if change is None:
            return False
        record |= {"sha256": change["sha256"], "accepted": self._today(), "definition": change["definition"]}
        return True

    def save(self) -> None:
        """Write the file, whole or not at all, if it says something else. PinsDamagedError if that can't be done."""
        if self.path is None or not any(self._servers.values()):
            return
        servers = {name: dict(sorted(self._servers[name].items())) for name in sorted(self._servers)}
        text = json.dumps({"note": _NOTE, "format": _FORMAT, "servers": servers}, ensure_ascii=False, indent=2) + "\n"
        data = text.encode("utf-8", "backslashreplace")
        try:
            if self.path.exists() and self.path.read_bytes() == data:
                return
            descriptor, beside = tempfile.mkstemp(dir=self.path.parent, prefix=f"{self.path.name}.")
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(data)
                os.chmod(beside, 0o644)
                os.replace(beside, self.path)
            except BaseException:
                os.unlink(beside)
                raise
        except OSError as error:
            raise PinsDamagedError(
                f"{self.path} can't be written ({error.strerror}), so it can't be kept what the MCP tools say of"
                " themselves; write it where that is possible and bring it along, or name another file"
            ) from error

    def _today(self) -> str:
        return time.strftime("%Y-%m-%d", time.gmtime(self._clock()))


def _read(path: Path | None) -> dict[str, dict[str, Any]]:
    if path is None:
        return {}
    try:
        content = json.loads(path.read_text("utf-8"))
        if content["format"] != _FORMAT:
            raise PinsDamagedError(f"{path} has format {content['format']!r}, this version reads {_FORMAT}")
        servers: dict[str, dict[str, Any]] = content["servers"]
        for records in servers.values():
            for record in records.values():
                for one in (record, record.get("changed", record)):
                    if digest_of(one["definition"]) != one["sha256"]:
                        raise PinsDamagedError(f"{path}: a definition in it is not the one that its hash was made of")
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise PinsDamagedError(f"{path} can't be read ({type(error).__name__}): restore it") from error
    return servers
