"""What a text is to be brought into: a type or a JSON Schema, the form that is sent of it, and the check of what comes.

A target is an object at its root, as the API wants it: what is none (a list, a choice, a number) is its one property
`value`. Bounds that the sent form can't carry hold nevertheless: what comes is validated here by the whole.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from dataclasses import dataclass
from inspect import Parameter as Kind
from typing import Any

from turnkeeper.errors import InputError, ToolDefinitionError
from turnkeeper.tools.arguments import BroughtCheck, Check, TypedCheck, told
from turnkeeper.tools.brought import schema_to_send, validator_of
from turnkeeper.tools.schema import schema_of, validator_for
from turnkeeper.tools.schema_tree import resolve, walk
from turnkeeper.tools.signature import EMPTY, Parameter
from turnkeeper.tools.slips import Fault
from turnkeeper.tools.strict import check_strict_totals, strict_form
from turnkeeper.tools.wording import shown

__all__ = ("Misfit", "Target")

_WHERE = "the type to extract"
_VALUE = "value"
_HEAD = "What you gave does not fit:"
_END = "Give the whole record again, with this mended."


class Misfit(Exception):  # noqa: N818 - what came, not a failure of the program
    """What came does not fit: `told` for the model, `faults` line by line."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.told = text
        self.faults = tuple(line.removeprefix("- ") for line in text.splitlines()[1:-1])


@dataclass(frozen=True, slots=True)
class Target:
    """`schema` is the form to send; `native` the one for structured output, None where that can't express it.

    `flat` says that the type is an object itself, `wrapped` that the check takes it as the property `value`.
    """

    name: str
    schema: dict[str, Any]
    native: dict[str, Any] | None
    check: Check
    flat: bool
    wrapped: bool

    @classmethod
    def for_type(cls, kind: Any) -> Target:
        """For a pydantic model, a dataclass, a TypedDict, or anything else that pydantic can read from JSON.

        InputError for what has no JSON Schema.
        """
        name = getattr(kind, "__name__", None) or repr(kind)
        parameter = Parameter(name=_VALUE, kind=Kind.KEYWORD_ONLY, hint=kind, default=EMPTY, role="argument")
        try:
            adapter = validator_for((parameter,), _WHERE, {})
            schema = schema_of((parameter,), adapter, {}, _WHERE)
        except ToolDefinitionError as error:
            reason = str(error.__cause__ or error).strip().partition("\n")[0]
            raise InputError(f"{name} can't be extracted, it has no JSON Schema: {reason}") from error
        inner = _unfolded(schema["properties"][_VALUE], schema)
        flat = inner is not None
        sent = schema if inner is None else inner
        return cls(name, sent, _native(sent), TypedCheck(adapter, schema), flat=flat, wrapped=True)

    @classmethod
    def for_schema(cls, schema: Mapping[str, Any]) -> Target:
        """For a JSON Schema (Draft 2020-12); the value is then plain JSON. InputError if it is unsound."""
        name = schema.get("title") if isinstance(schema.get("title"), str) else "the schema"
        root = resolve(dict(schema), str(schema["$ref"])) or {} if "$ref" in schema else schema
        flat = root.get("type") == "object" or "properties" in root
        whole = dict(schema) if flat else _as_property(schema)
        try:
            validator = validator_of(whole, "the schema")
            sent = schema_to_send(whole, "the schema")
        except ToolDefinitionError as error:
            raise InputError(str(error)) from error
        check = BroughtCheck(validator, sent, whole=whole, hidden=frozenset())
        return cls(str(name), sent, _native(sent), check, flat=flat, wrapped=not flat)

    def read(self, text: str) -> Any:
        """The value of a reply in JSON text. Raises Misfit."""
        try:
            given = json.loads(text)
        except (ValueError, RecursionError):
            raise Misfit(
                f"{_HEAD}\n- the whole: must be one JSON value and nothing else; got {shown(text)}\n{_END}"
            ) from None
        return self.value_of(given)

    def value_of(self, given: Any) -> Any:
        """The value of a record as it came, nested types built. Raises Misfit."""
        if isinstance(given, str):
            return self.read(given)  # some endpoints give the input of a call as text
        if not isinstance(given, dict):
            raise Misfit(f"{_HEAD}\n- the whole: must be a JSON object; got {shown(given)}\n{_END}")
        try:
            found, faults = self.check({_VALUE: given} if self.flat and self.wrapped else given)
        except RecursionError:
            raise Misfit(f"{_HEAD}\n- the whole: is nested too deeply\n{_END}") from None
        if faults:
            text = told([self._placed(fault) for fault in faults], _HEAD, _END)
            raise Misfit(text.replace("\n- the arguments:", "\n- the whole:"))
        return found[_VALUE] if self.wrapped else found

    def _placed(self, fault: Fault) -> Fault:
        strip = self.flat and self.wrapped and fault.path[:1] == (_VALUE,)
        return Fault(fault.path[1:], fault.reason, fault.value) if strip else fault


def _unfolded(part: dict[str, Any], root: dict[str, Any]) -> dict[str, Any] | None:
    """The part as a root of its own, if it is an object; None if it is none, or contains itself at the top."""
    found: dict[str, Any] | None = part
    if "$ref" in part:
        found = resolve(root, part["$ref"])
    if found is None or found.get("type") != "object" or "properties" not in found:
        return None
    made = copy.deepcopy(found) | {key: copy.deepcopy(value) for key, value in part.items() if key != "$ref"}
    used, waiting = {}, [made]
    while waiting:  # the definitions that it refers to, and no others
        for _, schema in walk(waiting.pop()):
            name = str(schema.get("$ref", "")).removeprefix("#/$defs/")
            if name in root.get("$defs", {}) and name not in used:
                used[name] = copy.deepcopy(root["$defs"][name])
                waiting.append(used[name])
    return made | ({"$defs": used} if used else {})


def _as_property(schema: Mapping[str, Any]) -> dict[str, Any]:
    inner = dict(schema)
    shared = {key: inner.pop(key) for key in ("$defs", "definitions", "$schema") if key in inner}
    return {
        "type": "object",
        "properties": {_VALUE: inner},
        "required": [_VALUE],
        "additionalProperties": False,
    } | shared


def _native(schema: dict[str, Any]) -> dict[str, Any] | None:
    """The form for `output_config.format`; None for what structured output can't express (recursion, open objects)."""
    try:
        form = strict_form(schema, _WHERE)
        check_strict_totals([form])
    except ToolDefinitionError:
        return None
    return form
