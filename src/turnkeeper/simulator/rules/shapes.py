"""How the API says that a value has the wrong shape: small checkers that rules and tables are built from.

A checker takes a path and a value and yields findings. The wording is that of the API itself: "Field required",
"Input should be a valid string", "Extra inputs are not permitted".
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from turnkeeper.simulator.rules.rule import Finding

__all__ = (
    "Checker",
    "array_of",
    "boolean",
    "either",
    "extra",
    "integer",
    "listed",
    "nullable",
    "number",
    "object_",
    "one_of",
    "pattern",
    "record",
    "required",
    "string",
    "tagged",
    "wrong",
)

Checker: TypeAlias = Callable[[str, Any], Iterator[Finding]]


def wrong(path: str, text: str, **more: Any) -> Finding:
    """A finding whose message is the path, a colon and the text."""
    return Finding(path, f"{path}: {text}", **more)


def required(path: str) -> Finding:
    """A required member is absent."""
    return wrong(path, "Field required")


def extra(path: str) -> Finding:
    """A member that the API doesn't know."""
    return wrong(path, "Extra inputs are not permitted")


def listed(words: Sequence[str]) -> str:
    """`'a'`, `'a' or 'b'`, `'a', 'b' or 'c'`."""
    quoted = [f"'{word}'" for word in words]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} or {quoted[-1]}"


def string(path: str, value: Any) -> Iterator[Finding]:
    """A string."""
    if not isinstance(value, str):
        yield wrong(path, "Input should be a valid string")


def integer(path: str, value: Any) -> Iterator[Finding]:
    """A whole number; true and false are none."""
    if not isinstance(value, int) or isinstance(value, bool):
        yield wrong(path, "Input should be a valid integer")


def number(path: str, value: Any) -> Iterator[Finding]:
    """A finite number."""
    finite = isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))
    if not finite or isinstance(value, bool):
        yield wrong(path, "Input should be a valid number")


def boolean(path: str, value: Any) -> Iterator[Finding]:
    """True or false."""
    if not isinstance(value, bool):
        yield wrong(path, "Input should be a valid boolean")


def object_(path: str, value: Any) -> Iterator[Finding]:
    """An object with any members."""
    if not isinstance(value, Mapping):
        yield wrong(path, "Input should be an object")


def one_of(*words: str) -> Checker:
    """One of the words."""

    def check(path: str, value: Any) -> Iterator[Finding]:
        if not isinstance(value, str) or value not in words:
            yield wrong(path, f"Input should be {listed(words)}")

    return check


def pattern(expression: str, *, least: int = 0, most: int | None = None) -> Checker:
    """A string that matches the expression from end to end."""
    compiled = re.compile(expression)

    def check(path: str, value: Any) -> Iterator[Finding]:
        if not isinstance(value, str):
            yield wrong(path, "Input should be a valid string")
        elif len(value) < least:
            yield wrong(path, f"String should have at least {least} character{'s' if least > 1 else ''}")
        elif most is not None and len(value) > most:
            yield wrong(path, f"String should have at most {most} characters")
        elif not compiled.fullmatch(value):
            yield wrong(path, f"String should match pattern '^{expression}$'")

    return check


def nullable(check: Checker) -> Checker:
    """Null, or what the checker takes."""

    def or_null(path: str, value: Any) -> Iterator[Finding]:
        if value is not None:
            yield from check(path, value)

    return or_null


def array_of(check: Checker) -> Checker:
    """A list whose items the checker takes."""

    def check_items(path: str, value: Any) -> Iterator[Finding]:
        if not isinstance(value, list):
            yield wrong(path, "Input should be a valid array")
            return
        for index, item in enumerate(value):
            yield from check(f"{path}.{index}", item)

    return check_items


def either(text: Checker, items: Checker) -> Checker:
    """A string that `text` takes, or anything else that `items` takes."""

    def check(path: str, value: Any) -> Iterator[Finding]:
        yield from (text if isinstance(value, str) else items)(path, value)

    return check


def record(members: Mapping[str, Checker], needs: Sequence[str] = (), *, open_: bool = False) -> Checker:
    """An object with these members and, unless it is open, no others."""

    def check(path: str, value: Any) -> Iterator[Finding]:
        if not isinstance(value, Mapping):
            yield wrong(path, "Input should be an object")
            return
        for name in needs:
            if name not in value:
                yield required(f"{path}.{name}")
        for name, inner in value.items():
            member = members.get(name)
            if member is not None:
                yield from member(f"{path}.{name}", inner)
            elif not open_:
                yield extra(f"{path}.{name}")

    return check


def tagged(variants: Mapping[str, Checker], *, key: str = "type", default: str | None = None) -> Checker:
    """An object whose `type` chooses the checker; the tag becomes part of the path, as in the API's own texts."""
    tags = ", ".join(f"'{tag}'" for tag in sorted(variants))

    def check(path: str, value: Any) -> Iterator[Finding]:
        if not isinstance(value, Mapping):
            yield wrong(path, "Input should be an object")
            return
        tag = value.get(key, default)
        if tag is None and default is not None:
            tag = default
        if key not in value and default is None:
            yield required(f"{path}.{key}")
        elif not isinstance(tag, str) or tag not in variants:
            shown = tag if isinstance(tag, str) else str(tag)
            yield wrong(
                path, f"Input tag '{shown}' found using '{key}' does not match any of the expected tags: {tags}"
            )
        else:
            yield from variants[tag](f"{path}.{tag}", value)

    return check
