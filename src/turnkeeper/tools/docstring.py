"""What a docstring says about a tool and its parameters: Google, NumPy or Sphinx style."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from types import ModuleType

from docstring_parser import Docstring, google, numpydoc, rest

from turnkeeper.tools.wording import clean

__all__ = ("Documentation", "read_docstring")

_STYLES: tuple[ModuleType, ...] = (google, numpydoc, rest)


@dataclass(frozen=True, slots=True)
class Documentation:
    """A tool's description and the descriptions of its parameters; empty where the docstring is silent."""

    description: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)


def read_docstring(text: str | None, names: Collection[str]) -> Documentation:
    """Read a docstring; `names` are the parameters of the function, hidden ones included.

    The style is the one that describes most of those parameters. The tool's description is the prose before the
    sections, and what the function returns if that is said. A docstring that describes no parameter is taken whole.
    """
    if not text or not text.strip():
        return Documentation()
    text = clean(inspect.cleandoc(text))
    best: tuple[Docstring, dict[str, str]] | None = None
    for style in _STYLES:
        parsed = _parse(style, text)
        if parsed is None:
            continue
        found = _parameters(parsed, names)
        if found and (best is None or len(found) > len(best[1])):
            best = (parsed, found)
    if best is None:
        return Documentation(text)
    parsed, found = best
    description = (parsed.description or "").strip()
    if parsed.returns is not None and (returns := (parsed.returns.description or "").strip()):
        description = f"{description}\n\nReturns: {returns}".strip()
    return Documentation(description, found)


def _parse(style: ModuleType, text: str) -> Docstring | None:
    try:
        parsed = style.parse(text)
    except Exception:  # noqa: BLE001 - prose that only looks like a section may raise anything there
        return None
    return parsed if isinstance(parsed, Docstring) else None


def _parameters(parsed: Docstring, names: Collection[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for parameter in parsed.params:
        # NumPy style lists several names at once: "x, y : float"
        for name in parameter.arg_name.split(","):
            bare = name.strip().lstrip("*")
            if bare in names:
                found[bare] = (parameter.description or "").strip()
    return found
