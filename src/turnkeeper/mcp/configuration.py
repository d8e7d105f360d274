"""The entries of `.mcp.json`: which servers there are, how each is reached, and what of it is on offer.

The format is the one that other programs read too: `{"mcpServers": {name: entry}}`, with `${NAME}` and
`${NAME:-default}` in it standing for variables of the environment. What only Turnkeeper knows stands in an entry's
member `turnkeeper`.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from turnkeeper.errors import ConfigurationError
from turnkeeper.types import Effect

__all__ = ("CALL_SECONDS", "START_SECONDS", "ServerEntry", "read_entries", "read_file")

CALL_SECONDS = 120.0
"""How long a call may take, unless the entry says otherwise."""
START_SECONDS = 30.0
"""How long a server may take to start and to list its tools."""

_EFFECTS = ("read", "idempotent", "once")
_HTTP = ("http", "streamable-http", "streamableHttp", "streamable_http")
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_HEADER_VALUE = re.compile(r"[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?|")
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_KEPT_BACK = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerEntry:
    """One server. Either `command` (a program that speaks over stdin and stdout), `url` (streamable HTTP), or `server`
    (an object of the `mcp` library in this process) says how it is reached.

    `allow` names the tools on offer (None: all), `deny` those that are not; `effects` says per tool what happens if it
    runs twice (`read`, `idempotent`, else `once`), `approval` which tools need a person (`always`). The names in these
    are the server's own. `timeout` and `start_timeout` are seconds. A server that is not `required` may be absent.
    What a server answers is text from outside, unless it is `trusted` (None: one in this process is).
    """

    name: str
    command: str | None = None
    args: tuple[str, ...] = field(default=(), repr=False)
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    cwd: str | None = None
    url: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    server: Any = field(default=None, repr=False)
    allow: tuple[str, ...] | None = None
    deny: tuple[str, ...] = ()
    effects: Mapping[str, Effect] = field(default_factory=dict)
    approval: Mapping[str, Any] = field(default_factory=dict)
    timeout: float | None = CALL_SECONDS
    start_timeout: float = START_SECONDS
    required: bool = True
    trusted: bool | None = None

    @property
    def is_trusted(self) -> bool:
        """Its results are taken for the application's own words."""
        return self.server is not None if self.trusted is None else self.trusted

    @property
    def place(self) -> str:
        """How it is reached, without anything that may be secret: for messages and logs."""
        if self.url is not None:
            parts = urlsplit(self.url)
            return f"{parts.scheme}://{parts.hostname}{f':{parts.port}' if parts.port else ''}{parts.path}"
        return self.command or "in this process"

    @property
    def is_remote(self) -> bool:
        """It is reached over HTTP."""
        return self.url is not None


def read_file(path: str | os.PathLike[str], *, environ: Mapping[str, str] | None = None) -> tuple[ServerEntry, ...]:
    """The servers of a file. ConfigurationError says what in it can't be used."""
    where = Path(path)
    try:
        content = json.loads(where.read_text("utf-8-sig"))
    except FileNotFoundError:
        raise ConfigurationError(f"there is no file {where}; it would list MCP servers: {_EXAMPLE}") from None
    except (OSError, UnicodeDecodeError, ValueError, RecursionError) as error:
        raise ConfigurationError(f"{where} can't be read: {error}") from error
    if not isinstance(content, Mapping) or not {"mcpServers", "servers"} & set(content):
        raise ConfigurationError(f"{where} has no member mcpServers: {_EXAMPLE}")
    return read_entries(content, where=str(where), environ=environ)


_EXAMPLE = '{"mcpServers": {"files": {"command": "mcp-server-filesystem", "args": ["/data"]}}}'


def read_entries(
    content: Mapping[str, Any], *, where: str = "the servers", environ: Mapping[str, str] | None = None
) -> tuple[ServerEntry, ...]:
    """The servers of a mapping: the file's format, or the entries themselves by name.

    A value may also be an object of the `mcp` library: a server in this process. Entries with `"disabled": true` are
    left out.
    """
    environ = os.environ if environ is None else environ
    entries = content.get("mcpServers", content.get("servers", content))
    if not isinstance(entries, Mapping):
        raise ConfigurationError(f"{where}: mcpServers is an object with an entry per server")
    found = []
    for name, entry in entries.items():
        at = f"{where}: server {name!r}"
        if not isinstance(name, str) or not name.strip():
            raise ConfigurationError(f"{where}: a server's name is text, and not empty")
        if isinstance(entry, ServerEntry):
            found.append(dataclasses.replace(entry, name=name))
        elif not isinstance(entry, Mapping):
            if isinstance(entry, str | list | int | float | bool | None):
                raise ConfigurationError(f"{at} is an object with a command or a url")
            found.append(ServerEntry(name=name, server=entry))
        elif entry.get("disabled") is not True:
            found.append(_entry(name, _expanded(entry, at, environ), at))
    return tuple(found)


def _entry(name: str, entry: Mapping[str, Any], at: str) -> ServerEntry:
    kind = entry.get("type", entry.get("transport"))
    command, url = _text(entry, "command", at), _text(entry, "url", at)
    if kind == "sse":
        raise ConfigurationError(
            f'{at}: the transport "sse" is no longer part of MCP; ask for the server\'s streamable HTTP endpoint and'
            ' say "type": "http"'
        )
    if kind is not None and kind != "stdio" and kind not in _HTTP:
        raise ConfigurationError(f'{at}: type is "stdio" or "http", not {kind!r}')
    if (command is None) == (url is None) or (kind == "stdio" and url) or (kind in _HTTP and command):
        raise ConfigurationError(f"{at} has either a command (stdio) or a url (streamable HTTP)")
    if url is not None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigurationError(f"{at}: its url is http://HOST/PATH or https://HOST/PATH")
    env, headers = _strings(entry, "env", at), _strings(entry, "headers", at)
    for variable, value in env.items():
        if not variable or "=" in variable or "\0" in variable + value:
            raise ConfigurationError(f"{at}: env {variable!r} can't be a variable of the environment")
    for header, value in headers.items():
        if not _HEADER.fullmatch(header) or not _HEADER_VALUE.fullmatch(value):
            # the value may be a secret with a line break behind it
            raise ConfigurationError(f"{at}: headers {header!r} can't be sent: a header is ASCII text on one line")
    return ServerEntry(
        name=name,
        command=command,
        args=_texts(entry, "args", at) or (),
        env=env,
        cwd=_text(entry, "cwd", at),
        url=url,
        headers=headers,
        **_own(entry.get("turnkeeper", {}), f"{at}: turnkeeper"),
    )


def _own(given: Any, at: str) -> dict[str, Any]:
    """The member `turnkeeper` of an entry, checked."""
    if not isinstance(given, Mapping):
        raise ConfigurationError(f"{at} is an object")
    known = {"allow", "deny", "effects", "approval", "timeout", "start_timeout", "required", "trusted"}
    if unknown := sorted(set(given) - known):
        raise ConfigurationError(f"{at}: unknown member {unknown[0]!r}; known are {', '.join(sorted(known))}")
    effects, approval = _strings(given, "effects", at), _strings(given, "approval", at)
    for tool, effect in effects.items():
        if effect not in _EFFECTS:
            raise ConfigurationError(f"{at}: the effect of {tool!r} is {', '.join(_EFFECTS)}, not {effect!r}")
    for tool, policy in approval.items():
        if policy not in ("always", "never"):
            raise ConfigurationError(f"{at}: the approval of {tool!r} is always or never, not {policy!r}")
    found: dict[str, Any] = {"effects": effects, "approval": approval}
    found["allow"], found["deny"] = _texts(given, "allow", at), _texts(given, "deny", at) or ()
    for name in ("timeout", "start_timeout"):
        if name in given:
            found[name] = _seconds(given[name], name, at)
    for name in {"required", "trusted"} & set(given):
        if not isinstance(given[name], bool):
            raise ConfigurationError(f"{at}: {name} is true or false")
        found[name] = given[name]
    return found


def _seconds(value: Any, name: str, at: str) -> float | None:
    if value is None and name == "timeout":
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise ConfigurationError(f"{at}: {name} is a number of seconds above 0, not {value!r}")
    return float(value)


def _text(entry: Mapping[str, Any], name: str, at: str) -> str | None:
    value = entry.get(name)
    if value is not None and (not isinstance(value, str) or not value.strip() or "\0" in value):
        raise ConfigurationError(f"{at}: {name} is text, and not empty")
    return value


def _texts(entry: Mapping[str, Any], name: str, at: str) -> tuple[str, ...] | None:
    value = entry.get(name)
    if value is None:
        return None
    if isinstance(value, str) or not isinstance(value, Sequence) or not all(isinstance(one, str) for one in value):
        raise ConfigurationError(f"{at}: {name} is a list of texts")
    return tuple(value)


def _strings(entry: Mapping[str, Any], name: str, at: str) -> dict[str, str]:
    value = entry.get(name) or {}
    if not isinstance(value, Mapping) or not all(isinstance(one, str) for pair in value.items() for one in pair):
        raise ConfigurationError(f"{at}: {name} is an object whose values are texts")
    return dict(value)


def _expanded(value: Any, at: str, environ: Mapping[str, str]) -> Any:
    """The same with the environment's variables in it."""
    if isinstance(value, str):
        return _VARIABLE.sub(lambda match: _value_of(match[1], match[2], at, environ), value)
    if isinstance(value, Mapping):
        return {key: one if key == "turnkeeper" else _expanded(one, at, environ) for key, one in value.items()}
    return [_expanded(one, at, environ) for one in value] if isinstance(value, list) else value


def _value_of(name: str, default: str | None, at: str, environ: Mapping[str, str]) -> str:
    if name in _KEPT_BACK:
        raise ConfigurationError(
            f"{at} asks for {name}, your key for the model: it is not handed to MCP servers. Put the key that the"
            " server is to have in a variable of another name"
        )
    found = environ.get(name)
    if found is None and default is None:
        raise ConfigurationError(f"{at} needs the environment variable {name}; set it, or write ${{{name}:-default}}")
    return default if not found and default is not None else found or ""
