"""JSON Schemas that a tool brings along: checked, copied, and put into the form that the API takes."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from typing import Any

import jsonschema_rs

from turnkeeper.errors import ToolDefinitionError
from turnkeeper.tools.schema_tree import dangling_references, resolve
from turnkeeper.tools.schema_work import MOST_WAYS, has_too_many_ways
from turnkeeper.tools.wording import clean_value

__all__ = ("schema_to_send", "validator_of")

_COMBINERS = ("allOf", "anyOf", "oneOf")
VALUE = "the value"
"""What the validator writes where it would otherwise quote a value of any size."""


def validator_of(schema: Mapping[str, Any], where: str) -> jsonschema_rs.Draft202012Validator:
    """A validator for a brought schema (Draft 2020-12, never fetching anything); ToolDefinitionError if unsound."""
    copied = _copied(schema, where)
    if missing := dangling_references(copied):
        raise ToolDefinitionError(
            f"{where}: the schema refers to {missing[0]!r}, which is not inside it; put the definition under $defs"
        )
    if has_too_many_ways(copied):
        raise ToolDefinitionError(
            f"{where}: its references meet again so often that there are more than {MOST_WAYS:,} ways through them, and"
            " to check one value could take for ever; refer to each definition once"
        )
    try:
        return jsonschema_rs.Draft202012Validator(copied, mask=VALUE, offline=True)
    except (ValueError, RecursionError) as error:
        reason = getattr(error, "message", None) or str(error)
        raise ToolDefinitionError(f"{where}: its schema is not a valid JSON Schema (2020-12): {reason}") from error


def schema_to_send(schema: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The brought schema as an object at the root, without a union there, closed unless it says otherwise.

    The API is reported to refuse `oneOf`, `anyOf` and `allOf` at the root, so the properties of such branches move to
    the root for the model to see; the whole schema still judges the arguments on our side.
    """
    root = _copied(schema, where)
    root.pop("$schema", None)
    if isinstance(reference := root.get("$ref"), str):
        target = resolve(root, reference) or {}
        root = {**copy.deepcopy(target), **{key: value for key, value in root.items() if key != "$ref"}}
    if root.setdefault("type", "object") != "object":
        raise ToolDefinitionError(
            f"{where}: the schema's root must be of type object, not {root['type']!r}: wrap it, such as "
            '{"type": "object", "properties": {"value": …}}'
        )
    had_branches = False
    for combiner in _COMBINERS:
        for branch in root.pop(combiner, ()):
            had_branches = True
            _merge(root, branch, required=combiner == "allOf")
    root.setdefault("properties", {})
    if not root.get("patternProperties") and not had_branches:
        root.setdefault("additionalProperties", False)
    elif had_branches:
        root["additionalProperties"] = root.get("additionalProperties", False)
    return root


def _merge(root: dict[str, Any], branch: Any, *, required: bool) -> None:
    if isinstance(branch, dict) and isinstance(reference := branch.get("$ref"), str):
        branch = resolve(root, reference)
    if not isinstance(branch, dict):
        return
    properties = root.setdefault("properties", {})
    for name, schema in (branch.get("properties") or {}).items():
        properties.setdefault(name, copy.deepcopy(schema))
    if required and branch.get("required"):
        root["required"] = list(dict.fromkeys([*root.get("required", ()), *branch["required"]]))


def _copied(schema: Mapping[str, Any], where: str) -> dict[str, Any]:
    if not isinstance(schema, Mapping):
        raise ToolDefinitionError(f"{where}: a schema is a JSON object, not {type(schema).__name__}")
    try:
        copied = json.loads(json.dumps(dict(schema), allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise ToolDefinitionError(f"{where}: the schema is not plain JSON ({error})") from error
    cleaned: dict[str, Any] = clean_value(copied)
    return cleaned
