"""Tools that bring a JSON Schema of their own: checked, sent in the API's form, and used to validate."""

from __future__ import annotations

import functools
import json
import logging
from collections.abc import Mapping
from typing import Any

import pytest

from turnkeeper.tools import (
    ArgumentsRejectedError,
    Injected,
    Tool,
    ToolContext,
    ToolDefinitionError,
    check_arguments,
    run_call,
    tool,
)
from turnkeeper.tools.schema_tree import SchemaTree

pytestmark = pytest.mark.anyio

SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {
        "city": {"type": "string", "minLength": 2, "description": "город"},
        "days": {"type": "integer", "minimum": 1, "maximum": 14},
        "lang": {"type": "string"},
        "place": {"$ref": "#/$defs/Place", "description": "beside the reference"},
        "$defs": {"type": "string"},
    },
    "required": ["city"],
    "$defs": {"Place": {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}},
}


def everything(**arguments: Any) -> str:
    return json.dumps(arguments, ensure_ascii=False)


def made(schema: Mapping[str, Any] = SCHEMA, function: Any = everything, **options: Any) -> Tool:
    return Tool.from_schema("weather", "Tell the weather.", schema, function, **options)


def rejected(subject: Tool, given: Any) -> str:
    with pytest.raises(ArgumentsRejectedError) as caught:
        check_arguments(subject, given)
    return str(caught.value)


async def test_the_schema_is_sent_closed_and_otherwise_as_it_came() -> None:
    sent = made().definition
    assert sent == {
        "name": "weather",
        "description": "Tell the weather.",
        "input_schema": {
            **{key: value for key, value in SCHEMA.items() if key != "$schema"},
            "additionalProperties": False,
        },
    }


async def test_the_function_gets_the_validated_object_as_keyword_arguments() -> None:
    @tool(schema=SCHEMA, name="weather")
    def weather(ctx: ToolContext, city: str, days: int = 3, **others: Any) -> list[Any]:
        """Tell the weather."""
        return [ctx.key, city, days, others]

    given = {"city": "東京", "days": "5", "place": '{"id": "7"}', "lang": None, "$defs": "x"}
    outcome = await run_call(weather, check_arguments(weather, given), ToolContext(key="k"))
    assert outcome.content == '["k","東京",5,{"place":{"id":7},"$defs":"x"}]'
    assert weather.description == "Tell the weather."


async def test_a_function_with_one_mapping_gets_the_whole_object() -> None:
    def whole(arguments: dict[str, Any], ctx: ToolContext) -> dict[str, Any]:
        return arguments

    subject = made(function=whole)
    assert (await run_call(subject, check_arguments(subject, {"city": "Рим"}))).content == '{"city":"Рим"}'


async def test_faults_are_named_as_for_any_other_tool() -> None:
    text = rejected(made(), {"city": "x", "days": 99, "place": {"id": True}, "extra": 1})
    assert '- city: is shorter than 2 characters; got "x"' in text
    assert "- days: is greater than the maximum of 14; got 99" in text
    assert "- place.id: must be an integer, not true or false; got true" in text
    assert "- extra: is unknown; known are city, days, lang, place, $defs; got 1" in text
    assert "- city: is required, but was not given; it must be a string" in rejected(made(), {})


async def test_a_value_of_any_size_is_not_repeated() -> None:
    assert len(rejected(made(), {"city": ["x" * 100_000]})) < 400


async def test_a_value_nested_beyond_measure_is_refused() -> None:
    deep: Any = []
    for _ in range(5000):
        deep = [deep]
    nested = {"type": "array", "items": {"$ref": "#/$defs/nested"}}
    for schema in ({}, {"$ref": "#/$defs/nested"}):
        subject = made({"properties": {"a": schema}, "$defs": {"nested": nested}})
        assert "nested too deeply" in rejected(subject, {"a": deep})
        assert check_arguments(subject, {"a": [[[]]]}) == {"a": [[[]]]}


async def test_null_for_an_optional_property_is_left_out() -> None:
    """Report B17-null-for-optional.

    https://github.com/ZenRows/zenrows-mcp/pull/23
    """
    assert check_arguments(made(), {"city": "Ufa", "lang": None}) == {"city": "Ufa"}
    assert "- city: must be a string; got null" in rejected(made(), {"city": None})


async def test_an_open_schema_stays_open() -> None:
    schema = {"type": "object", "properties": {}, "additionalProperties": {"type": "integer"}}
    assert check_arguments(made(schema), {"любой": "5"}) == {"любой": 5}
    by_pattern = {"type": "object", "patternProperties": {"^x-": {"type": "string"}}}
    assert "additionalProperties" not in made(by_pattern).input_schema
    assert check_arguments(made(by_pattern), {"x-a": "b"}) == {"x-a": "b"}


async def test_a_union_at_the_root_moves_inside_and_still_judges() -> None:
    schema = {
        "type": "object",
        "properties": {"note": {"type": "string"}},
        "anyOf": [
            {"properties": {"email": {"type": "string"}}, "required": ["email"]},
            {"$ref": "#/$defs/ByPhone"},
        ],
        "$defs": {"ByPhone": {"properties": {"phone": {"type": "string"}}, "required": ["phone"]}},
    }
    subject = made(schema)
    assert not {"anyOf", "oneOf", "allOf"} & set(subject.input_schema)
    assert list(subject.input_schema["properties"]) == ["note", "email", "phone"]
    assert check_arguments(subject, {"phone": "1"}) == {"phone": "1"}
    assert "the arguments: " in rejected(subject, {"note": "x"})


async def test_a_root_that_only_refers_is_opened() -> None:
    schema = {"$ref": "#/$defs/Root", "$defs": {"Root": {"type": "object", "properties": {"a": {"type": "integer"}}}}}
    assert made(schema).input_schema["properties"] == {"a": {"type": "integer"}}


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "array"}, "the schema's root must be of type object, not 'array': wrap it"),
        ({"type": "objec"}, "must be of type object"),
        ({"properties": {"a": {"type": "text"}}}, "is not a valid JSON Schema"),
        ({"properties": {"a": {"$ref": "#/$defs/Gone"}}}, "refers to '#/$defs/Gone', which is not inside it"),
        ({"properties": {"a": {"$ref": "https://example.com/a.json"}}}, "which is not inside it"),
        ({"properties": {"a": {"default": float("nan")}}}, "the schema is not plain JSON"),
        ([], "a schema is a JSON object, not list"),
    ],
)
async def test_an_unsound_schema_is_refused(schema: Any, words: str) -> None:
    with pytest.raises(ToolDefinitionError) as caught:
        made(schema)
    assert words in str(caught.value)


async def test_an_anchor_is_a_reference_inside() -> None:
    schema = {"properties": {"a": {"$ref": "#Num"}}, "$defs": {"n": {"$anchor": "Num", "type": "integer"}}}
    assert check_arguments(made(schema), {"a": "5"}) == {"a": 5}


async def test_a_function_that_cannot_take_the_schema_is_refused() -> None:
    def narrow(city: str) -> None: ...

    def needy(a: str) -> None: ...

    with pytest.raises(ToolDefinitionError, match=r"allows \$defs, days, lang, place, and the function has no such"):
        made(function=narrow)
    with pytest.raises(ToolDefinitionError, match="allows any further key"):
        made({"properties": {"a": {}}, "additionalProperties": True}, function=needy)
    with pytest.raises(ToolDefinitionError, match="doesn't require 'a', and the function has no default"):
        made({"properties": {"a": {}}}, function=needy)


async def test_a_property_name_that_the_api_may_refuse_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "turnkeeper.tools"):
        made({"properties": {"Account Number": {"type": "string"}}})
    assert "may refuse the property name 'Account Number'" in caplog.text


async def test_surrogates_and_pairs_in_a_schema_are_made_clean() -> None:
    schema = {"properties": {"a": {"type": "string", "description": "x\ud800 \ud83d\ude42"}}}
    assert made(schema).input_schema["properties"]["a"]["description"] == "x� 🙂"
    assert check_arguments(made(schema), {"a": "\udc81"}) == {"a": "�"}


OPEN: dict[str, Any] = {"type": "object", "properties": {"city": {"type": "string"}}, "additionalProperties": True}


def _for_owner(ctx: ToolContext, owner: Injected[str | None] = None, *, city: str = "", **others: Any) -> str:
    return json.dumps([owner, city, others], ensure_ascii=False)


def _bound(owner: str = "everybody", city: str = "", **others: Any) -> str:
    return json.dumps([owner, city, others], ensure_ascii=False)


@pytest.mark.parametrize("name", ["owner", "ctx"])
async def test_an_open_schema_gives_the_model_no_hidden_parameter(name: str) -> None:
    subject = made(OPEN, _for_owner)
    assert f'- {name}: is unknown; got "другой"' in rejected(subject, {"city": "Рим", name: "другой"})
    # and a call that was not checked does not reach it either
    context = ToolContext(injected={"owner": "мария"})
    assert (await run_call(subject, {"city": "Рим", name: "другой"}, context)).content == '["мария", "Рим", {}]'
    assert (await run_call(subject, {"city": "Рим", name: "другой"})).content == '[null, "Рим", {}]'
    assert check_arguments(subject, {"city": "Рим", "x": 1}) == {"city": "Рим", "x": 1}


async def test_an_open_schema_does_not_undo_what_a_partial_has_bound() -> None:
    subject = made(OPEN, functools.partial(_bound, owner="мария"))
    assert "- owner: is unknown" in rejected(subject, {"owner": "другой"})
    assert (await run_call(subject, {"owner": "другой", "x": 1})).content == '["мария", "", {"x": 1}]'


async def test_a_schema_that_names_a_hidden_parameter_is_refused() -> None:
    closed = {"properties": {"owner": {"type": "string"}}, "required": ["owner"]}
    for function in (_for_owner, functools.partial(_bound, owner="мария")):
        with pytest.raises(
            ToolDefinitionError, match="has the property 'owner', and that parameter of the function is"
        ):
            made(closed, function)


async def test_a_whole_object_may_have_a_property_of_a_hidden_parameters_name() -> None:
    def remote(arguments: dict[str, Any], ctx: ToolContext) -> list[Any]:
        return [arguments, ctx.key]

    subject = made({"properties": {"ctx": {"type": "string"}}}, remote)
    outcome = await run_call(subject, check_arguments(subject, {"ctx": "x"}), ToolContext(key="k"))
    assert outcome.content == '[{"ctx":"x"},"k"]'


def meeting(count: int, keyword: str, **inside: Any) -> dict[str, Any]:
    """Definitions of which each leads to the next one twice."""
    steps = {f"n{at}": {keyword: [{"$ref": f"#/$defs/n{at + 1}"}] * 2} for at in range(count)}
    end = {f"n{count}": {"type": "string"}}
    return {"type": "object", "$defs": steps | end, "properties": {"q": {"$ref": "#/$defs/n0"}}, **inside}


@pytest.mark.parametrize("keyword", ["allOf", "anyOf", "oneOf"])
def test_a_schema_whose_references_meet_too_often_is_refused_and_stops_nothing(keyword: str) -> None:
    with pytest.raises(ToolDefinitionError, match="more than 50,000 ways through them"):
        made(meeting(60, keyword))
    assert made(meeting(8, keyword)).definition["input_schema"]["properties"] == {"q": {"$ref": "#/$defs/n0"}}


def test_neither_circles_nor_ids_of_their_own_hide_such_references() -> None:
    every = [{"$ref": f"#/$defs/n{at}"} for at in range(14)]
    circle = {f"n{at}": {"allOf": every} for at in range(14)}
    inner = meeting(60, "allOf") | {"$id": "urn:x", "allOf": [{"$ref": "#/$defs/n0"}]}
    alike = {f"n{at}": {"type": "string"} for at in range(61)}
    for schema in (
        {"type": "object", "$defs": circle, "properties": {"q": every[0]}},
        {"type": "object", "$defs": alike, "properties": {"q": inner}},
    ):
        with pytest.raises(ToolDefinitionError, match="ways through them"):
            made(schema)


def test_the_kinds_of_references_that_meet_or_go_in_a_circle_are_worked_out_once() -> None:
    schema = meeting(300, "anyOf")
    schema["$defs"] |= {
        "list": {
            "anyOf": [{"type": "null"}, {"type": "array", "items": {"$ref": "#/$defs/list"}}, {"$ref": "#/$defs/list"}]
        },
        "both": {"allOf": [{"$ref": "#/$defs/list"}, {"type": ["null", "number"]}]},
        "loop": {"allOf": [{"$ref": "#/$defs/loop"}]},
        "some": {"oneOf": [{"const": 1}, True], "enum": ["я", 2, None]},
        "none": {"anyOf": [False]},
    }
    tree = SchemaTree(schema)
    found = {
        name: sorted(tree.kinds(tree.root["$defs"][name])) for name in ("list", "both", "loop", "some", "none", "n0")
    }
    assert found == {
        "list": ["array", "null"],
        "both": ["null"],
        "loop": [],
        "some": ["integer", "null", "string"],
        "none": [],
        "n0": ["string"],
    }
