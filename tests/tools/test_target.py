"""What a text is brought into: the form that is sent of a type, and the check of what comes."""

from __future__ import annotations

import datetime
import enum
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, TypedDict

import pytest
import typing_extensions
from pydantic import BaseModel, Field

from turnkeeper.errors import InputError
from turnkeeper.tools.target import Misfit, Target


class Mood(enum.Enum):
    GOOD = "good"
    BAD = "bad"


class Sentiment(BaseModel):
    """How a text feels."""

    positive: float = Field(ge=0.0, le=1.0, description="0.0 to 1.0")
    words: list[str] = []


@dataclass
class Order:
    number: int
    placed: datetime.date
    lines: list[Line] = field(default_factory=list)


@dataclass
class Line:
    name: str
    count: Annotated[int, Field(ge=1)] = 1


class Person(TypedDict):
    name: str
    age: typing_extensions.NotRequired[int]


class Scores(TypedDict):
    positive: Annotated[float, Field(ge=0.0, le=1.0)]
    mood: Mood


@dataclass
class Scored:
    positive: Annotated[float, Field(ge=0.0, le=1.0)]
    mood: Mood = Mood.GOOD


class Tree(BaseModel):
    name: str
    children: list[Tree] = []


def misfit(target: Target, given: Any) -> Misfit:
    with pytest.raises(Misfit) as raised:
        target.value_of(given) if not isinstance(given, bytes) else target.read(given.decode())
    return raised.value


def test_an_object_is_sent_as_it_is_and_its_bounds_are_said_where_they_can_not_be_kept() -> None:
    target = Target.for_type(Sentiment)
    assert target.schema == {
        "type": "object",
        "description": "How a text feels.",
        "properties": {
            "positive": {"type": "number", "description": "0.0 to 1.0", "minimum": 0.0, "maximum": 1.0},
            "words": {"type": "array", "items": {"type": "string"}, "default": []},
        },
        "required": ["positive"],
        "additionalProperties": False,
    }
    assert target.native is not None
    assert target.native["properties"]["positive"] == {
        "type": "number",
        "description": "0.0 to 1.0 (maximum: 1.0, minimum: 0.0)",
    }


def test_bounds_hold_though_the_sent_form_can_not_carry_them() -> None:
    target = Target.for_type(Sentiment)
    assert target.read('{"positive": 1, "words": ["кот"]}') == Sentiment(positive=1.0, words=["кот"])
    found = misfit(target, {"positive": 1.5})
    assert found.told == (
        "What you gave does not fit:\n- positive: must be less than or equal to 1; got 1.5\n"
        "Give the whole record again, with this mended."
    )
    assert found.faults == ("positive: must be less than or equal to 1; got 1.5",)
    assert misfit(target, {"positive": -0.01}).faults[0].startswith("positive: must be greater than or equal to 0")
    assert misfit(target, {"positive": "много"}).faults == ('positive: must be a number; got "много"',)
    assert misfit(target, b'{"positive": NaN}').faults != ()


def test_dataclasses_and_typed_dictionaries_are_built_nested_ones_too() -> None:
    order = Target.for_type(Order)
    found = order.value_of({"number": "7", "placed": "2026-11-30", "lines": [{"name": "Чай", "count": 2}]})
    assert found == Order(7, datetime.date(2026, 11, 30), [Line("Чай", 2)])
    assert misfit(order, {"number": 7, "placed": "2026-11-30", "lines": [{"name": "x", "count": 0}]}).faults == (
        "lines[0].count: must be greater than or equal to 1; got 0",
    )
    person = Target.for_type(Person)
    assert person.value_of({"name": "李雷"}) == {"name": "李雷"}
    assert misfit(person, {}).faults[0].startswith("name: is required, but was not given")
    assert misfit(person, {"name": "a", "nick": "b"}).faults == ('nick: is unknown; known are name, age; got "b"',)


@pytest.mark.parametrize(
    ("kind", "given", "value"),
    [
        (list[Sentiment], [{"positive": 0.5}], [Sentiment(positive=0.5)]),
        (Literal["spam", "ham"], "ham", "ham"),
        (Literal["spam", "ham"], "HAM", "ham"),
        (Mood, "good", Mood.GOOD),
        (int, 5, 5),
        (bool, True, True),
        (dict[str, int], {"a": 1}, {"a": 1}),
        (Sentiment | None, None, None),
        (tuple[int, str], [1, "x"], (1, "x")),
        (Annotated[int, Field(ge=3)], 3, 3),
    ],
)
def test_what_is_no_object_is_the_one_property_of_one(kind: Any, given: Any, value: Any) -> None:
    target = Target.for_type(kind)
    assert list(target.schema["properties"]) == ["value"]
    assert target.value_of({"value": given}) == value


@pytest.mark.parametrize("kind", [Scores, Scored])
def test_bounds_and_choices_hold_in_dictionaries_and_dataclasses_too(kind: Any) -> None:
    target = Target.for_type(kind)
    assert target.value_of({"positive": 0, "mood": "BAD"}) == kind(positive=0.0, mood=Mood.BAD)
    assert misfit(target, {"positive": 1.0001, "mood": "good"}).faults == (
        "positive: must be less than or equal to 1; got 1.0001",
    )
    assert misfit(target, {"positive": 1, "mood": "так себе"}).faults[0].startswith("mood: must be ")


def test_a_fault_of_such_a_one_is_named_by_its_place() -> None:
    assert misfit(Target.for_type(Annotated[int, Field(ge=3)]), {"value": 2}).faults == (
        "value: must be greater than or equal to 3; got 2",
    )


@pytest.mark.parametrize("kind", [Tree, dict[str, int]])
def test_what_structured_output_can_not_express_has_no_native_form(kind: Any) -> None:
    assert Target.for_type(kind).native is None


def test_a_recursive_type_is_read_nevertheless() -> None:
    target = Target.for_type(Tree)
    found = target.value_of({"name": "a", "children": [{"name": "б"}]})
    assert found == Tree(name="a", children=[Tree(name="б")])
    deep: dict[str, Any] = {"name": "x"}
    for _ in range(3_000):
        deep = {"name": "x", "children": [deep]}
    assert "nested too deeply" in misfit(target, deep).told


@pytest.mark.parametrize(
    "came", [b"", b"not json", b"[1]", b'"x"', b"null", b'{"positive": 0.5} and more', b"\xd0\x9d"]
)
def test_what_is_no_record_says_so(came: bytes) -> None:
    assert misfit(Target.for_type(Sentiment), came).faults[0].startswith("the whole: must be ")


def test_the_input_of_a_call_that_came_as_text_is_read() -> None:
    assert Target.for_type(Sentiment).value_of('{"positive": 0.5}') == Sentiment(positive=0.5)


def test_lone_surrogates_become_a_replacement_character() -> None:
    assert Target.for_type(Person).value_of({"name": "a\ud83d"}) == {"name": "a\ufffd"}


@pytest.mark.parametrize("kind", [object(), type, BaseException])
def test_what_has_no_schema_is_refused_with_its_name(kind: Any) -> None:
    with pytest.raises(InputError, match="can't be extracted, it has no JSON Schema"):
        Target.for_type(kind)


def test_a_json_schema_is_a_target_too_and_holds_as_a_whole() -> None:
    target = Target.for_schema(
        {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "Score",
            "type": "object",
            "properties": {"score": {"type": "number", "minimum": 0, "maximum": 1}},
            "required": ["score"],
        }
    )
    assert (target.name, target.value_of({"score": 0.5})) == ("Score", {"score": 0.5})
    assert misfit(target, {"score": 2}).faults[0].startswith("score: ")
    assert misfit(target, {"score": 0.5, "x": 1}).faults[0].startswith("x: ")


def test_a_schema_that_is_no_object_is_one_property_and_its_definitions_stay_reachable() -> None:
    schema = {"type": "array", "items": {"$ref": "#/$defs/n"}, "$defs": {"n": {"type": "integer", "minimum": 1}}}
    target = Target.for_schema(schema)
    assert target.value_of({"value": [1, 2]}) == [1, 2]
    assert misfit(target, {"value": [0]}).faults[0].startswith("value[0]: ")
    referred = {"$ref": "#/$defs/o", "$defs": {"o": {"type": "object", "properties": {"a": {"type": "string"}}}}}
    assert Target.for_schema(referred).value_of({"a": "я"}) == {"a": "я"}


@pytest.mark.parametrize(
    "schema", [{"type": "nonsense"}, {"$ref": "#/$defs/none"}, {"type": "object", "properties": 5}]
)
def test_an_unsound_schema_is_refused(schema: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        Target.for_schema(schema)
