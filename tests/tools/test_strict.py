"""`strict=True`: the form that the API takes, what moves into words, what has no such form."""

from __future__ import annotations

import datetime
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from turnkeeper.tools import ArgumentsRejectedError, Registry, ToolDefinitionError, check_arguments, tool
from turnkeeper.tools.strict import strict_form


class Item(BaseModel):
    name: str
    size: int = Field(default=1, ge=1, description="in cm")


class Tree(BaseModel):
    children: list[Tree] = []


def test_a_strict_schema_is_closed_everywhere_and_keeps_only_what_strict_takes() -> None:
    @tool(strict=True)
    def put(
        item: Item,
        count: Annotated[int, Field(ge=1, le=9)],
        pair: tuple[int, str],
        code: Annotated[str, Field(pattern="^[a-z]+$", min_length=2)] = "ab",
        day: datetime.date | None = None,
        tags: Annotated[list[str], Field(min_length=1, max_length=3)] = ["x"],  # noqa: B006
    ) -> None: ...

    assert put.definition["strict"] is True
    assert put.input_schema["additionalProperties"] is False
    assert put.input_schema["$defs"]["Item"] == {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "size": {"type": "integer", "default": 1, "description": "in cm (minimum: 1)"},
        },
        "required": ["name"],
        "additionalProperties": False,
    }
    assert put.input_schema["properties"] == {
        "item": {"$ref": "#/$defs/Item"},
        "count": {"type": "integer", "description": "(maximum: 9, minimum: 1)"},
        "pair": {
            "type": "array",
            "items": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
            "description": '(maxItems: 2, minItems: 2, in this order: ["integer", "string"])',
        },
        "code": {"type": "string", "pattern": "^[a-z]+$", "default": "ab", "description": "(minLength: 2)"},
        "day": {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}], "default": None},
        "tags": {
            "type": "array",
            "items": {"type": "string"},
            "minItems": 1,
            "default": ["x"],
            "description": "(maxItems: 3)",
        },
    }


def test_what_moved_into_words_is_still_validated_here() -> None:
    @tool(strict=True)
    def put(count: Annotated[int, Field(le=9)], code: Annotated[str, Field(pattern=r"^\bab")] = "ab") -> None: ...

    assert "pattern" not in put.input_schema["properties"]["code"]
    with pytest.raises(ArgumentsRejectedError, match="count: must be less than or equal to 9; got 10"):
        check_arguments(put, {"count": 10})


def free(data: dict[str, int]) -> None: ...
def anything(data: Any) -> None: ...
def recursive(tree: Tree) -> None: ...
def bare(data: dict) -> None: ...  # type: ignore[type-arg]


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (free, "strict mode needs every key named, and data takes any: use a model"),
        (bare, "strict mode needs every key named, and data takes any"),
        (anything, "strict mode needs a type for every value, and data may be anything"),
        (recursive, "strict mode takes no recursive types, and Tree contains itself"),
    ],
)
def test_what_strict_cannot_take_is_refused(function: Any, words: str) -> None:
    tool(function)
    with pytest.raises(ToolDefinitionError) as caught:
        tool(function, strict=True)
    assert words in str(caught.value)


def test_a_brought_schema_can_be_strict() -> None:
    schema = {
        "type": "object",
        "properties": {"n": {"oneOf": [{"type": "integer"}, {"type": "null"}]}},
        "required": ["n"],
    }
    made = tool(lambda n: n, name="n", schema=schema, strict=True)
    assert made.input_schema["properties"] == {"n": {"anyOf": [{"type": "integer"}, {"type": "null"}]}}
    with pytest.raises(ToolDefinitionError, match="no arrays or objects as choices of n"):
        tool(lambda n=1: n, name="n", schema={"properties": {"n": {"enum": [[1]]}}}, strict=True)


def test_more_than_a_request_takes_is_refused_by_the_registry() -> None:
    def many(prefix: str, count: int, kind: dict[str, Any]) -> Any:
        properties = {f"{prefix}{number}": kind for number in range(count)}
        return tool(lambda **_: None, name=prefix, schema={"properties": properties}, strict=True)

    Registry([many("a", 12, {"type": "string"}), many("b", 12, {"type": "string"})])
    with pytest.raises(ToolDefinitionError, match="at most 24 optional parameters in strict tools, and these are 25"):
        Registry([many("a", 13, {"type": "string"}), many("b", 12, {"type": "string"})])
    with pytest.raises(ToolDefinitionError, match="at most 16 parameters of a union type"):
        Registry([many("a", 17, {"anyOf": [{"type": "string"}, {"type": "null"}]})])
    with pytest.raises(ToolDefinitionError, match="at most 20 strict tools, and these are 21"):
        Registry([many(f"t{number}", 0, {}) for number in range(21)])


def test_references_that_meet_again_are_followed_once() -> None:
    steps = {f"n{at}": {"anyOf": [{"$ref": f"#/$defs/n{at + 1}"}] * 2} for at in range(60)}
    schema = {"type": "object", "properties": {}, "additionalProperties": False}
    whole = {**schema, "$defs": {**steps, "n60": {"type": "string"}}, "properties": {"q": {"$ref": "#/$defs/n0"}}}
    assert strict_form(whole, "the tool") == whole
