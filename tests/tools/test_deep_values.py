"""Values that a small, sound schema leads into again and again, twice as often with each level of nesting."""

from __future__ import annotations

import json
from typing import Any

import pydantic
import pytest

import turnkeeper as tk
from turnkeeper.tools import ArgumentsRejectedError, Tool, check_arguments
from turnkeeper.tools.schema_work import MOST_LOOKS

REF = {"$ref": "#/$defs/t"}
LISTS = {"anyOf": [{"type": "array", "items": REF}, {"type": "array", "items": REF}]}
DOUBLING: dict[str, Any] = {
    "anyOf": LISTS,
    "oneOf": {"oneOf": LISTS["anyOf"]},
    "allOf": {"allOf": [{"items": REF}, {"items": REF}]},
    "prefixItems": {"anyOf": [{"prefixItems": [REF]}, {"prefixItems": [REF]}]},
    "contains": {"allOf": [{"contains": REF}, {"items": REF}], "type": ["array", "string"]},
}
TOO_DEEP = "the arguments: nested so deeply that to check them by this tool's schema could take for ever"


def made(schema: dict[str, Any]) -> Tool:
    return Tool.from_schema("deep", "Deep.", schema, lambda **given: "ran")


def nested(depth: int, inside: Any = 1) -> Any:
    for _ in range(depth):
        inside = [inside]
    return inside


def of(part: dict[str, Any]) -> Tool:
    return made({"type": "object", "properties": {"v": REF}, "$defs": {"t": part}})


@pytest.mark.parametrize("part", DOUBLING.values(), ids=list(DOUBLING))
def test_a_value_that_a_schema_would_look_at_for_ever_is_refused_at_once(part: Any) -> None:
    """60 levels are 10^18 looks."""
    with pytest.raises(ArgumentsRejectedError) as caught:
        check_arguments(of(part), {"v": nested(60, "я")})
    assert TOO_DEEP in str(caught.value)


def test_the_same_in_a_string_is_refused_at_once() -> None:
    """Also where it is the mending that would go every way: each branch misses something."""
    with pytest.raises(ArgumentsRejectedError) as caught:
        check_arguments(of(LISTS), {"v": json.dumps(nested(60, "я"))})
    assert TOO_DEEP in str(caught.value)
    branch = {"type": "object", "properties": {"c": REF}, "required": ["z"]}
    value: Any = {}
    for _ in range(60):
        value = {"c": value}
    with pytest.raises(ArgumentsRejectedError) as caught:
        check_arguments(of({"anyOf": [branch, branch]}), {"v": json.dumps(value)})
    assert TOO_DEEP in str(caught.value)


class Both(pydantic.BaseModel):
    """Both of the terms, each one or the other again."""

    terms: list[Both | Either]


class Either(pydantic.BaseModel):
    """Either of the terms."""

    terms: list[Both | Either]


def test_type_hints_that_lead_to_themselves_twice_are_counted_too() -> None:
    @tk.tool
    def find(terms: list[Both | Either]) -> str:
        """Find."""
        return "ran"

    value: Any = {"terms": "неверно"}
    for _ in range(40):
        value = {"terms": [value]}
    with pytest.raises(ArgumentsRejectedError) as caught:
        check_arguments(find, value)
    assert TOO_DEEP in str(caught.value)
    assert check_arguments(find, {"terms": [{"terms": []}]})["terms"] == [Both(terms=[])]


def test_a_root_that_leads_to_itself_twice_is_counted_by_the_whole_schema() -> None:
    """What is sent of such a root has no union any more; the validator still has it."""
    branch = {"properties": {"c": {"$ref": "#"}}}
    tool = made({"type": "object", "anyOf": [branch, branch]})
    value: Any = {"c": 7}
    for _ in range(40):
        value = {"c": value}
    with pytest.raises(ArgumentsRejectedError, match="nested so deeply"):
        check_arguments(tool, value)


def test_what_is_nested_less_is_told_what_is_wrong_or_runs() -> None:
    with pytest.raises(ArgumentsRejectedError) as caught:
        check_arguments(of(LISTS), {"v": nested(6)})
    assert "nested so deeply" not in str(caught.value)
    assert check_arguments(of(LISTS), {"v": nested(6, [])}) == {"v": nested(6, [])}


def test_a_large_or_deep_value_is_no_reason_where_each_look_is_a_new_one() -> None:
    anything = {
        "anyOf": [
            {"type": ["string", "number", "boolean", "null"]},
            {"type": "array", "items": REF},
            {"type": "object", "additionalProperties": REF},
        ]
    }
    wide = {"v": [{"ключ": [0] * 20, "b": {"c": "中"}} for _ in range(MOST_LOOKS // 10)]}
    assert check_arguments(of(anything), wide) == wide
    deep = {"v": nested(60, {"a": None})}
    assert check_arguments(of(anything), deep) == deep
