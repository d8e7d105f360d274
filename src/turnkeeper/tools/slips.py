"""Harmless slips in a model's arguments, mended by the tool's own JSON Schema before anything is validated.

One policy for every tool, whether its schema was made from type hints or brought along:

- a string that holds a number, for a number ("5"); `true`/`false` in a string, for a boolean; a whole float (5.0),
  for an integer; an integer, for a string (not for a date and the like);
- a string that holds a JSON array or object, where an array or object and no string is declared;
- `null` for an optional property that can't be null: left out, so that its default holds;
- a lone surrogate in a string: U+FFFD;
- a string that differs from exactly one value of an enumeration in letter case only.

A declared string is never decoded. A boolean is never a number. A number, or a string of digits, is never a date.
Whatever else doesn't fit is left as it is. Where validation would let it pass, the fault found here is `hard`; the
others only lend their words to what validation refuses.
"""

from __future__ import annotations

import difflib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from turnkeeper.tools.schema_tree import ALL_KINDS, SchemaTree
from turnkeeper.tools.schema_work import Work
from turnkeeper.tools.wording import KIND_WORDS, clean, clean_value, json_kind, shown

__all__ = ("ENDLESS", "NOTHING", "Fault", "Path", "Slips", "are_endless", "expectation")

Path = tuple[str | int, ...]
NOTHING: Any = object()
"""Stands for a value that isn't there."""

ENDLESS = "nested so deeply that to check them by this tool's schema could take for ever; nest them less"
_NUMBER = re.compile(r"\s*-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?\s*")
_ONLY_DIGITS = re.compile(r"\s*[+-]?([\d_]+(\.\d*)?|\.\d+)\s*")
_MOMENTS = frozenset({"date", "date-time", "time"})


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong with the arguments: where, why, and the value given (`NOTHING` if none was).

    A `hard` one is a refusal by itself; any other only if validation refuses something at the same place too.
    """

    path: Path
    reason: str
    value: Any = NOTHING
    hard: bool = False


def are_endless(faults: list[Fault]) -> bool:
    """Whether one of the faults is that the value must not be shown to a validator at all."""
    return any(fault.reason == ENDLESS for fault in faults)


def expectation(kinds: frozenset[str], schema: Mapping[str, Any]) -> str:
    """What a schema wants, in words: `one of "a", "b"`, `an integer or null`."""
    if isinstance(options := schema.get("enum"), list):
        return "one of " + ", ".join(shown(option) for option in options[:20])
    if "const" in schema:
        return shown(schema["const"])
    if kinds == ALL_KINDS:
        return "any value"
    named = [word for kind, word in KIND_WORDS.items() if kind in kinds]
    if "number" in kinds:
        named.remove(KIND_WORDS["integer"])
    return " or ".join(named) or "nothing"


class Slips:
    """Mends values by one schema. The value given is never changed: it is the record of what the model said."""

    __slots__ = ("_tree", "_work")

    def __init__(self, schema: dict[str, Any]) -> None:
        self._tree = SchemaTree(schema)
        self._work = Work(schema)

    def mend(self, value: Any) -> tuple[Any, list[Fault]]:
        """The mended copy, and the faults that no validation behind this one would name."""
        if self._work.is_too_much(value, self._tree.root):
            return {}, [Fault((), ENDLESS, hard=True)]
        faults: list[Fault] = []
        mended = self._mend(value, self._tree.root, (), faults)
        if self._work.is_too_much(mended, self._tree.root):  # text that held JSON
            return {}, [Fault((), ENDLESS, hard=True)]
        return mended, faults

    def _mend(self, value: Any, schema: Any, path: Path, faults: list[Fault]) -> Any:
        if not isinstance(schema, dict) or not schema:
            return clean_value(value)
        schema = self._tree.follow(schema)
        kinds = self._tree.kinds(schema)
        kind = json_kind(value)
        if kind not in kinds:
            value = _coerce(value, kind, kinds, schema)
            decoded, kind = kind == "string", json_kind(value)
            if decoded and self._work.is_too_much(value, schema):
                faults.append(Fault(path, ENDLESS, hard=True))
                return None
            if kind not in kinds:
                faults.append(_misfit(value, kind, kinds, schema, path))
                return clean_value(value)
        return self._inside(value, kind, schema, path, faults)

    def _inside(self, value: Any, kind: str, schema: dict[str, Any], path: Path, faults: list[Fault]) -> Any:
        branches = schema.get("anyOf") or schema.get("oneOf")
        if branches:
            return self._mend_union(value, kind, branches, schema, path, faults)
        if kind == "object":
            return self._mend_object(value, schema, path, faults)
        if kind == "array":
            return self._mend_array(value, schema, path, faults)
        if kind == "string":
            return _mend_string(value, schema, path, faults)
        if kind == "number" and not math.isfinite(value):
            faults.append(Fault(path, "must be a finite number", str(value), hard=True))
        return value

    def _mend_object(
        self, value: dict[str, Any], schema: dict[str, Any], path: Path, faults: list[Fault]
    ) -> dict[str, Any]:
        properties = schema.get("properties") or {}
        others = schema.get("additionalProperties")
        required = schema.get("required") or ()
        closed = others is False and not schema.get("patternProperties")
        mended: dict[str, Any] = {}
        for raw, item in value.items():
            key = clean(raw)
            known = properties.get(key)
            if known is None:
                if closed and key not in properties:
                    faults.append(Fault((*path, key), _unknown(key, properties), item, hard=True))
                else:
                    mended[key] = self._mend(item, others, (*path, key), faults)
            elif item is None and key not in required and "null" not in self._tree.kinds(known):
                continue
            else:
                mended[key] = self._mend(item, known, (*path, key), faults)
        faults += [Fault((*path, k), self._missing(properties.get(k))) for k in required if k not in value]
        return mended

    def _missing(self, schema: Any) -> str:
        if not isinstance(schema, dict):
            return "is required, but was not given"
        target = self._tree.follow(schema)
        return f"is required, but was not given; it must be {expectation(self._tree.kinds(target), target)}"

    def _mend_array(self, value: list[Any], schema: dict[str, Any], path: Path, faults: list[Fault]) -> list[Any]:
        first = schema.get("prefixItems") or ()
        rest = schema.get("items")
        return [
            self._mend(item, first[index] if index < len(first) else rest, (*path, index), faults)
            for index, item in enumerate(value)
        ]

    def _mend_union(
        self, value: Any, kind: str, branches: list[Any], schema: dict[str, Any], path: Path, faults: list[Fault]
    ) -> Any:
        fitting = [branch for branch in branches if kind in self._tree.kinds(branch)]
        named = schema.get("discriminator")
        if kind == "object" and isinstance(named, dict):
            fitting = self._discriminated(value, named, fitting)
        if len(fitting) == 1:
            return self._mend(value, fitting[0], path, faults)
        for branch in fitting:
            found: list[Fault] = []
            mended = self._mend(value, branch, path, found)
            if not found:
                return mended
        return clean_value(value)

    def _discriminated(self, value: dict[str, Any], named: dict[str, Any], fitting: list[Any]) -> list[Any]:
        tag = value.get(str(named.get("propertyName")))
        mapping = named.get("mapping") or {}
        reference = mapping.get(tag) if isinstance(tag, str) else None
        return [self._tree.follow({"$ref": reference})] if isinstance(reference, str) else fitting


def _coerce(value: Any, kind: str, kinds: frozenset[str], schema: dict[str, Any]) -> Any:
    if kind == "string":
        return _coerce_string(value, kinds)
    if kind == "number" and "integer" in kinds and value.is_integer():
        return int(value)
    if kind == "integer" and "string" in kinds and "format" not in schema:
        return str(value)
    return value


def _coerce_string(value: str, kinds: frozenset[str]) -> Any:
    text = value.strip()
    if "integer" in kinds and _NUMBER.fullmatch(text):
        number = _decoded(text)
        if isinstance(number, float) and number.is_integer() and "number" not in kinds:
            return int(number)
        if json_kind(number) in kinds:
            return number
    if "boolean" in kinds and text.lower() in {"true", "false"}:
        return text.lower() == "true"
    if kinds & {"array", "object"} and text[:1] in {"[", "{"}:
        decoded = _decoded(text)
        if json_kind(decoded) in kinds:
            return decoded
    return value


def _decoded(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _mend_string(value: str, schema: dict[str, Any], path: Path, faults: list[Fault]) -> str:
    value = clean(value)
    options = [schema["const"]] if "const" in schema else schema.get("enum")
    if isinstance(options, list) and value not in options:
        alike = [o for o in options if isinstance(o, str) and o.casefold() == value.casefold()]
        return alike[0] if len(alike) == 1 else value
    if schema.get("format") in _MOMENTS and _ONLY_DIGITS.fullmatch(value):
        faults.append(Fault(path, f"must be an ISO 8601 {schema['format']}", value, hard=True))
    return value


def _misfit(value: Any, kind: str, kinds: frozenset[str], schema: dict[str, Any], path: Path) -> Fault:
    numeric = "integer" in kinds
    if kind == "boolean" and (numeric or "string" in kinds):
        # Validation would take true for 1, also where a number may stand in a string (Decimal, timedelta).
        return Fault(path, f"must be {expectation(kinds, schema)}, not true or false", value, hard=True)
    if schema.get("format") in _MOMENTS:
        return Fault(path, f"must be an ISO 8601 {schema['format']}, as a string", value, hard=True)
    not_finite = kind == "string" and value.strip().lstrip("+-").lower() in {"nan", "inf", "infinity"}
    hint = ", as JSON and not as a string" if kind == "string" and kinds & {"array", "object"} else ""
    return Fault(path, f"must be {expectation(kinds, schema)}{hint}", value, hard=numeric and not_finite)


def _unknown(key: str, properties: Mapping[str, Any]) -> str:
    if not properties:
        return "is unknown: nothing may be given here"
    close = difflib.get_close_matches(key, properties, n=1)
    if close:
        return f"is unknown; did you mean {close[0]}?"
    return f"is unknown; known are {', '.join(list(properties)[:20])}"
