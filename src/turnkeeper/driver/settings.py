"""Settings: arguments, then the environment, then `turnkeeper.toml`, then defaults.

The file is that of the working folder, which may be anybody's. It doesn't decide where a key of yours is sent: its
`base_url` counts only where no key is found, or where TURNKEEPER_TRUST_FILE is set to 1.
"""

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

_ENVIRONMENT: dict[str, tuple[str, ...]] = {"model": ("ANTHROPIC_MODEL",), "base_url": ("ANTHROPIC_BASE_URL",)}
"""Variables besides TURNKEEPER_ and the setting's name."""
_CREDENTIALS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
_TRUST = "TURNKEEPER_TRUST_FILE"
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

        ConfigurationError says which place holds something that can't be read, or an endpoint that is not trusted with
        a key (see `base_url`).
        """
        if name == "base_url":
            return self.base_url(given)
        return self._find(name, given)

    def base_url(self, given: str | None = None, *, api_key: str | None = None) -> str | None:
        """The endpoint; None for the official one. `api_key` is a key that was given as an argument.

        ConfigurationError if the endpoint is the file's and the key is not: the key would go wherever the file says.
        """
        if given is not None:
            return given
        if (chosen := self._from_environment("base_url")) is not None:
            return str(chosen)
        found = self._read().get("base_url")
        if found is None:
            return None
        if not isinstance(found, str):
            raise ConfigurationError(f"{self._path()}: base_url must be a text, not {found!r}")
        if not self._is_trusted() and (source := self._key_from(api_key)):
            raise ConfigurationError(
                f"{self._path()} says where requests go (base_url), and the key comes from {source}: a file in the"
                " working folder is not trusted with it. Set ANTHROPIC_BASE_URL, give base_url= or --base-url, or"
                f" set {_TRUST}=1"
            )
        return found

    def _is_trusted(self) -> bool:
        return self._environ.get(_TRUST, "").strip().lower() not in ("", "0", "false", "no")

    def _key_from(self, api_key: str | None) -> str | None:
        """Where a key would come from; None if there is none."""
        if api_key:
            return "api_key="
        for variable in _CREDENTIALS:
            if self._environ.get(variable, "").strip():
                return variable
        if self._environ is not os.environ:
            return None
        import anthropic  # noqa: PLC0415 - heavy, and needed only where a file names an endpoint

        try:
            found = anthropic.AsyncAnthropic(max_retries=0).credentials
        except (anthropic.AnthropicError, ValueError):  # told when they are used
            return None
        return None if found is None else "the SDK's own profile"

    def _find(self, name: str, given: Any) -> Any:
        if given is not None:
            return given
        found = self._from_environment(name)
        if found is None:
            found = self._read().get(name)
        return DEFAULTS.get(name) if found is None else found

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
