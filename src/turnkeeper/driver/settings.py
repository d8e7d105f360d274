"""Settings: arguments, then the environment, then `turnkeeper.toml`, then defaults.

The file is that of the working folder, which may be anybody's. What runs code, says what the model is told or decides
where anything goes (`base_url`, `tools`, `mcp`, `system`, `journal`, `desk`) counts there only where the user trusts
the file: TURNKEEPER_TRUST_FILE names it.
"""

from __future__ import annotations

import os
import shlex
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from turnkeeper.core.tool_choice import ASKS
from turnkeeper.errors import ConfigurationError

__all__ = ("DEFAULTS", "FILE_NAME", "Settings")

FILE_NAME = "turnkeeper.toml"

DEFAULTS: dict[str, Any] = {
    "model": "claude-opus-5-5",
    "max_tokens": 16_000,
    "tool_choice_asks": ASKS,
}

_ENVIRONMENT: dict[str, tuple[str, ...]] = {"model": ("ANTHROPIC_MODEL",), "base_url": ("ANTHROPIC_BASE_URL",)}
"""Variables besides TURNKEEPER_ and the setting's name."""
_TRUST = "TURNKEEPER_TRUST_FILE"
_NEEDS_TRUST = {
    "base_url": ("where requests go", "give base_url= or --base-url, set ANTHROPIC_BASE_URL"),
    "tools": ("which code runs", "give -T, set TURNKEEPER_TOOLS"),
    "mcp": ("which programs are started", "give --mcp, set TURNKEEPER_MCP"),
    "system": ("what the model is told", "give -s, set TURNKEEPER_SYSTEM"),
    "journal": ("where conversations are kept", "give --journal, set TURNKEEPER_JOURNAL"),
    "desk": ("where the desk's records are kept", "give --database, set TURNKEEPER_DESK"),
}
"""What each setting decides, and how to say it oneself."""
_HARMLESS = (
    "model",
    "max_tokens",
    "max_requests",
    "budget",
    "conversation_budget",
    "day_budget",
    "tool_choice",
    "tool_choice_asks",
    "cache",
    "result_head",
)
_NAMES = frozenset({*_NEEDS_TRUST, *_HARMLESS})
_NUMBERS: dict[str, type] = {
    "max_tokens": int,
    "max_requests": int,
    "budget": float,
    "conversation_budget": float,
    "day_budget": float,
    "result_head": int,
    "tool_choice_asks": int,
}


class Settings:
    """Looks a setting up. `environ` and `folder` (where `turnkeeper.toml` is looked for) can be given in tests."""

    def __init__(self, *, environ: Mapping[str, str] | None = None, folder: Path | None = None) -> None:
        self._environ = os.environ if environ is None else environ
        self._folder = folder
        self._file: dict[str, Any] | None = None

    def find(self, name: str, given: Any = None) -> Any:
        """The value of `name`: `given` if it is not None, else the environment's, the file's, the default, None.

        ConfigurationError says which place holds something that can't be read, or that the file, which nobody said to
        trust, has one of the settings that could do harm.
        """
        if given is not None:
            return given
        found = self._from_environment(name)
        if found is None:
            found = self._from_file(name)
        return DEFAULTS.get(name) if found is None else found

    @property
    def is_trusted(self) -> bool:
        """Whether TURNKEEPER_TRUST_FILE says so: it is 1, or names the file or its folder (several as in PATH)."""
        said = self._environ.get(_TRUST, "").strip()
        if said.lower() in ("", "0", "false", "no", "off"):
            return False
        if said.lower() in ("1", "true", "yes", "on"):
            return True
        path = self._path().resolve()
        named = [Path(one).resolve() for one in said.split(os.pathsep) if Path(one).is_absolute()]
        return any(one in (path, path.parent) for one in named)

    def _from_file(self, name: str) -> Any:
        found = self._read().get(name)
        if found is None or name not in _NEEDS_TRUST:
            return found
        if not self.is_trusted:
            decides, instead = _NEEDS_TRUST[name]
            raise ConfigurationError(
                f"{self._path()} sets {name}, which decides {decides}, and a file of the working folder is not trusted"
                f" with that: {instead}, or look at the file and trust it:"
                f" {_TRUST}={shlex.quote(str(self._path().resolve()))}"
            )
        if not isinstance(found, str) and name not in ("tools", "mcp"):
            raise ConfigurationError(f"{self._path()}: {name} must be a text, not {found!r}")
        return found

    def _from_environment(self, name: str) -> Any:
        for variable in (*_ENVIRONMENT.get(name, ()), f"TURNKEEPER_{name.upper()}"):
            text = self._environ.get(variable, "").strip()
            if text:
                return _number(name, text, f"the environment variable {variable}")
        return None

    def _path(self) -> Path:
        return (self._folder or Path.cwd()) / FILE_NAME

    def _read(self) -> dict[str, Any]:
        if self._file is None:
            path = self._path()
            try:
                self._file = tomllib.loads(path.read_text(encoding="utf-8"))
            except FileNotFoundError:
                self._file = {}
            except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
                raise ConfigurationError(f"{path} can't be read: {error}") from error
            unknown = sorted(set(self._file) - _NAMES)
            if unknown:
                raise ConfigurationError(
                    f"{path}: unknown setting {unknown[0]!r}; known are {', '.join(sorted(_NAMES))}"
                )
        return self._file


def _number(name: str, text: str, where: str) -> Any:
    kind = _NUMBERS.get(name)
    if kind is None:
        return text
    try:
        return kind(text)
    except ValueError as error:
        raise ConfigurationError(f"{where} must be a number, not {text!r}") from error
