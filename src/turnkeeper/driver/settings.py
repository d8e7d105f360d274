"""Settings: arguments, then the environment, then `turnkeeper.toml`, then defaults."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from turnkeeper.errors import ConfigurationError

__all__ = ("DEFAULTS", "FILE_NAME", "Settings")

FILE_NAME = "turnkeeper.toml"

DEFAULTS: dict[str, Any] = {
    "model": "claude-opus-5-5",
    "max_tokens": 16_000,
}

_ENVIRONMENT: dict[str, tuple[str, ...]] = {
    "model": ("ANTHROPIC_MODEL", "TURNKEEPER_MODEL"),
    "base_url": ("ANTHROPIC_BASE_URL",),
    "api_key": ("ANTHROPIC_API_KEY",),
    "auth_token": ("ANTHROPIC_AUTH_TOKEN",),
}
_NAMES = frozenset(
    {"model", "base_url", "max_tokens", "max_requests", "budget", "journal", "system", "tools", "tool_choice", "desk"}
)
_NUMBERS: dict[str, type] = {"max_tokens": int, "max_requests": int, "budget": float}


class Settings:
    """Looks a setting up. `environ` and `folder` (where `turnkeeper.toml` is looked for) can be given in tests."""

    def __init__(self, *, environ: Mapping[str, str] | None = None, folder: Path | None = None) -> None:
        self._environ = os.environ if environ is None else environ
        self._folder = folder
        self._file: dict[str, Any] | None = None

    def find(self, name: str, given: Any = None) -> Any:
        """The value of `name`: `given` if it is not None, else the environment's, the file's, the default, None.

        ConfigurationError says which place holds something that can't be read.
        """
        if given is not None:
            return given
        for variable in (*_ENVIRONMENT.get(name, ()), f"TURNKEEPER_{name.upper()}"):
            text = self._environ.get(variable, "").strip()
            if text:
                return _number(name, text, f"the environment variable {variable}")
        found = self._read().get(name)
        return DEFAULTS.get(name) if found is None else found

    def _read(self) -> dict[str, Any]:
        if self._file is None:
            path = (self._folder or Path.cwd()) / FILE_NAME
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
