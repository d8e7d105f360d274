"""Cases of the schemas in tool definitions, strict and not."""

from __future__ import annotations

import dataclasses
from typing import Any

from tests.simulator.rules.asked import Case, ask, refused, taken, tool
from turnkeeper.models import find

__all__ = ("CASES",)

_COMPLEX = "Schema is too complex for compilation. Try reducing the number of tools or simplifying tool schemas."
_OPEN = "For 'object' type, 'additionalProperties' must be explicitly set to false"
_INVALID = (
    "JSON schema is invalid. It must match JSON Schema draft 2020-12 (https://json-schema.org/draft/2020-12). Learn "
    "more about tool use at https://docs.claude.com/en/docs/tool-use."
)


def closed(properties: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    properties = properties or {}
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
        **more,
    }


def plain(schema: Any) -> dict[str, Any]:
    return ask(tools=[tool(schema=schema)])


def strict(*schemas: Any) -> dict[str, Any]:
    return ask(tools=[tool(f"t{number}", schema, strict=True) for number, schema in enumerate(schemas)])


def _strict(title: str, schema: Any, text: str) -> Case:
    return refused("tools.strict-schema", title, strict(schema), "tools.0.custom", f"tools.0.custom: {text}")


_TREE = {"type": "array", "items": {"$ref": "#/$defs/узел"}}
_OPTIONAL = {f"поле{number}": {"type": "string"} for number in range(25)}
_UNIONS = {f"p{number}": {"type": ["string", "null"]} for number in range(9)}
_EITHER = {f"q{number}": {"anyOf": [{"type": "string"}, {"type": "null"}]} for number in range(8)}

CASES: tuple[Case, ...] = (
    taken("tools.schema-object", "an object", plain({"type": "object", "properties": {"город": {"type": "string"}}})),
    refused(
        "tools.schema-object",
        "no type",
        plain({"properties": {}}),
        "tools.0.custom.input_schema.type",
        "tools.0.custom.input_schema.type: Field required",
    ),
    refused(
        "tools.schema-object",
        "a string",
        plain({"type": "string"}),
        "tools.0.custom.input_schema.type",
        "tools.0.custom.input_schema.type: Input should be 'object'",
    ),
    taken(
        "tools.schema-valid",
        "another draft's name, which is not fetched",
        plain({"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"}),
    ),
    refused(
        "tools.schema-valid",
        "a type that doesn't exist",
        plain({"type": "object", "properties": {"a": {"type": "str"}}}),
        "tools.0.custom.input_schema",
        f"tools.0.custom.input_schema: {_INVALID}",
    ),
    refused(
        "tools.schema-valid",
        "draft 4's exclusiveMinimum",
        plain({"type": "object", "properties": {"a": {"exclusiveMinimum": True}}}),
        "tools.0.custom.input_schema",
        f"tools.0.custom.input_schema: {_INVALID}",
    ),
    taken(
        "tools.schema-root-combinators",
        "below the root",
        plain({"type": "object", "properties": {"a": {"anyOf": [{"type": "string"}, {"type": "integer"}]}}}),
    ),
    taken(
        "tools.schema-root-combinators",
        "where the catalogue doesn't say so",
        plain({"type": "object", "oneOf": [{"required": ["a"]}]}),
        model=dataclasses.replace(find("claude-opus-5-5"), root_combinators="unknown"),
    ),
    refused(
        "tools.schema-root-combinators",
        "at the root",
        plain({"type": "object", "anyOf": [{"required": ["a"]}]}),
        "tools.0.custom.input_schema",
        "tools.0.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level",
    ),
    taken(
        "tools.strict-schema",
        "everything closed",
        strict(
            closed(
                {
                    "заказ": closed({"номер": {"type": "integer", "enum": [1, 2]}}),
                    "даты": {"type": "array", "items": {"type": "string", "format": "date"}, "minItems": 1},
                    "код": {"type": "string", "pattern": "^[A-Z]{2}\\d+$"},
                    "maximum": {"type": "string"},
                }
            )
        ),
    ),
    taken(
        "tools.strict-schema",
        "a definition used twice is no recursion",
        strict(
            closed({"a": {"$ref": "#/$defs/s"}, "b": {"$ref": "#/$defs/s"}}, **{"$defs": {"s": {"type": "string"}}})
        ),
    ),
    taken("tools.strict-schema", "the same schema without strict", plain({"type": "object", "minProperties": 1})),
    _strict("an open object", {"type": "object", "properties": {}}, _OPEN),
    _strict("an open object inside", closed({"a": {"type": "array", "items": {"type": "object"}}}), _OPEN),
    _strict(
        "limits of a number",
        closed({"a": {"type": "integer", "minimum": 1, "maximum": 5}}),
        "For 'integer' type, properties maximum, minimum are not supported",
    ),
    _strict(
        "the length of a text",
        closed({"a": {"type": "string", "maxLength": 5}}),
        "For 'string' type, properties maxLength are not supported",
    ),
    _strict(
        "at least two items",
        closed({"a": {"type": "array", "minItems": 2}}),
        "For 'array' type, 'minItems' values other than 0 or 1 are not supported",
    ),
    _strict(
        "an enum of objects",
        closed({"a": {"enum": [{"b": 1}]}}),
        "'enum' values must be strings, numbers, booleans or null",
    ),
    _strict(
        "look-ahead in a pattern",
        closed({"a": {"type": "string", "pattern": "(?=x)"}}),
        "Unsupported regex feature in pattern field: lookaround",
    ),
    _strict(
        "a word boundary in a pattern",
        closed({"a": {"type": "string", "pattern": "\\bx"}}),
        "Unsupported regex feature in pattern field: word boundary",
    ),
    _strict(
        "recursion",
        closed({"корень": _TREE}, **{"$defs": {"узел": closed({"дети": _TREE})}}),
        "Recursive schemas are not supported",
    ),
    refused(
        "tools.strict-schema",
        "an open output format",
        ask(output_config={"format": {"type": "json_schema", "schema": {"type": "object"}}}),
        "output_config.format.schema",
        f"output_config.format.schema: {_OPEN}",
    ),
    taken("tools.strict-limits", "20 strict tools", strict(*[closed()] * 20)),
    refused("tools.strict-limits", "21 strict tools", strict(*[closed()] * 21), "tools", _COMPLEX),
    taken(
        "tools.strict-limits",
        "25 optional parameters of a tool that is not strict",
        plain({"type": "object", "properties": _OPTIONAL}),
    ),
    refused("tools.strict-limits", "25 optional parameters", strict(closed(_OPTIONAL, required=[])), "tools", _COMPLEX),
    taken("tools.strict-limits", "16 unions", strict(closed(_UNIONS), closed(dict(list(_EITHER.items())[:7])))),
    refused(
        "tools.strict-limits", "17 unions in two tools", strict(closed(_UNIONS), closed(_EITHER)), "tools", _COMPLEX
    ),
)
