"""Arguments: harmless slips are mended, everything else is refused in words that the model can act on."""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Iterable
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator

from turnkeeper.tools import ArgumentsRejectedError, Tool, check_arguments, tool


def rejected(made: Tool, given: Any) -> str:
    with pytest.raises(ArgumentsRejectedError) as caught:
        check_arguments(made, given)
    text = str(caught.value)
    assert "pydantic" not in text
    assert "http" not in text
    return text


@tool
def tag(item: int, labels: list[str], meta: dict[str, str] | None = None, note: str = "") -> None: ...


@tool
def find(q: str, limit: int = 10, region: str | None = None, active: bool = True) -> None: ...


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"item": 1, "labels": '["bug","ui"]'}, {"item": 1, "labels": ["bug", "ui"]}),
        ({"item": 1, "labels": [], "meta": '{"k":"v"}'}, {"item": 1, "labels": [], "meta": {"k": "v"}}),
        ({"item": 1, "labels": [], "note": "[1,2]"}, {"item": 1, "labels": [], "note": "[1,2]"}),
        ({"item": 1, "labels": ["[1]"], "note": '{"a": 1}'}, {"item": 1, "labels": ["[1]"], "note": '{"a": 1}'}),
        ({"item": "5", "labels": []}, {"item": 5, "labels": []}),
        ({"item": " -5 ", "labels": []}, {"item": -5, "labels": []}),
        ({"item": 5.0, "labels": []}, {"item": 5, "labels": []}),
        ({"item": "5.0", "labels": []}, {"item": 5, "labels": []}),
        ({"item": 1, "labels": [7]}, {"item": 1, "labels": ["7"]}),
    ],
)
def test_harmless_slips_are_mended_and_genuine_strings_stay(given: dict[str, Any], expected: dict[str, Any]) -> None:
    """Report B05-list-as-json-string.

    https://github.com/vectorize-io/hindsight/issues/849
    """
    arguments = check_arguments(tag, given)
    assert arguments == expected
    assert all(type(arguments[name]) is type(value) for name, value in expected.items())


@pytest.mark.parametrize("labels", ["urgent", "[1, 2", '"x"', "{}", "null", 5, {"a": 1}])
def test_what_is_no_array_is_an_error_that_names_the_field(labels: Any) -> None:
    text = rejected(tag, {"item": 1, "labels": labels})
    assert "- labels: must be an array" in text
    assert "so it was not run" in text


def test_null_for_an_optional_parameter_means_its_default() -> None:
    """Report B17-null-for-optional.

    https://github.com/ZenRows/zenrows-mcp/pull/23
    """
    assert check_arguments(find, {"q": "a", "limit": None, "region": None}) == {"q": "a", "region": None}
    assert check_arguments(find, {"q": "a", "region": "null"}) == {"q": "a", "region": "null"}
    assert check_arguments(find, {"q": "a", "active": None}) == {"q": "a"}
    assert "- q: must be a string; got null" in rejected(find, {"q": None})


def test_null_means_the_default_inside_nested_objects_as_well() -> None:
    class Filter(BaseModel):
        size: int = 3
        name: str | None = "x"

    @tool
    def use(filter_: Filter) -> None: ...

    assert check_arguments(use, {"filter_": {"size": None, "name": None}}) == {"filter_": Filter(size=3, name=None)}


def test_the_text_names_field_reason_and_value_and_how_to_go_on() -> None:
    assert rejected(find, {"limit": "many", "regoin": "x" * 500, "active": "maybe"}).splitlines() == [
        "The arguments don't fit the tool, so it was not run:",
        '- regoin: is unknown; did you mean region?; got "' + "x" * 79 + "… (502 characters)",
        "- q: is required, but was not given; it must be a string",
        '- limit: must be an integer; got "many"',
        '- active: must be true or false; got "maybe"',
        "Send the call again with this mended.",
    ]


def test_an_unknown_argument_of_a_tool_without_any_is_named() -> None:
    @tool
    def now() -> None: ...

    assert check_arguments(now, {}) == {}
    assert "- zone: is unknown: nothing may be given here; got 1" in rejected(now, {"zone": 1})


def test_a_boolean_is_never_a_number_wherever_it_stands() -> None:
    class Line(BaseModel):
        quantity: int
        price: Decimal

    @tool
    def order(count: int, ratio: float, lines: list[Line], either: int | None = None) -> None: ...

    given = {"count": True, "ratio": False, "lines": [{"quantity": True, "price": True}], "either": True}
    text = rejected(order, given)
    for field in ("count", "ratio", "lines[0].quantity", "lines[0].price", "either"):
        assert f"- {field}: must be " in text
    assert "not true or false; got true" in text


def test_a_boolean_in_words_is_one() -> None:
    assert check_arguments(find, {"q": "a", "active": "False"})["active"] is False


@pytest.mark.parametrize("value", ["nan", "Infinity", "-inf", float("nan"), float("inf"), "1e999"])
def test_a_number_is_finite(value: Any) -> None:
    @tool
    def pay(amount: float) -> None: ...

    assert "- amount: must be a " in rejected(pay, {"amount": value})


@pytest.mark.parametrize("value", [5, 1.5, "2026", "1767225600", True])
def test_a_number_is_never_a_moment(value: Any) -> None:
    @tool
    def book(day: datetime.date, moment: datetime.datetime, hour: datetime.time) -> None: ...

    text = rejected(book, {"day": value, "moment": value, "hour": value})
    assert all(f"- {field}: must be " in text for field in ("day", "moment", "hour"))


def test_a_long_row_of_digits_is_refused_in_reasonable_time() -> None:
    @tool
    def book(day: datetime.date, number: int) -> None: ...

    text = rejected(book, {"day": "1" * 200_000 + "x", "number": "1" * 200_000})
    assert "- day: must be a valid date" in text
    assert "- number: must be an integer" in text


def test_iso_texts_become_moments_and_other_types() -> None:
    @tool
    def book(
        day: datetime.date, at: datetime.datetime, took: datetime.timedelta, token: uuid.UUID, price: Decimal
    ) -> None: ...

    given = {"day": "2026-01-02", "at": "2026-01-02T03:04:05Z", "took": "PT90S", "token": "0" * 32, "price": "12.30"}
    assert check_arguments(book, given) == {
        "day": datetime.date(2026, 1, 2),
        "at": datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC),
        "took": datetime.timedelta(seconds=90),
        "token": uuid.UUID(int=0),
        "price": Decimal("12.30"),
    }


def test_a_choice_in_another_letter_case_is_the_choice_if_only_one_fits() -> None:
    class Size(Enum):
        SMALL = "S"
        LARGE = "Ł"

    @tool
    def pick(
        mode: Literal["fast", "SLOW", "slow"], size: Size, level: Literal[1, 2] = 1, one: Literal["A"] = "A"
    ) -> None: ...

    assert check_arguments(pick, {"mode": "Fast", "size": "ł", "level": "2", "one": "a"}) == {
        "mode": "fast",
        "size": Size.LARGE,
        "level": 2,
        "one": "A",
    }
    text = rejected(pick, {"mode": "Slow", "size": "XL", "level": True})
    assert "- mode: must be 'fast', 'SLOW' or 'slow'; got \"Slow\"" in text
    assert "- size: must be 'S' or 'Ł'" in text
    assert "- level: must be one of 1, 2, not true or false; got true" in text


def test_unknown_keys_are_refused_in_nested_objects_too() -> None:
    class Address(BaseModel):
        street: str

    @tool
    def move(to: Address) -> None: ...

    text = rejected(move, {"to": {"street": "x", "stret": "y", "is_admin": True}})
    assert "- to.stret: is unknown; did you mean street?" in text
    assert "- to.is_admin: is unknown; known are street; got true" in text


def test_a_nested_model_that_allows_more_gets_more() -> None:
    class Open(BaseModel):
        model_config = ConfigDict(extra="allow")

    @tool
    def take(thing: Open) -> None: ...

    assert check_arguments(take, {"thing": {"a": 1}})["thing"].a == 1


def test_slips_are_mended_in_the_member_of_a_union_that_fits() -> None:
    class Card(BaseModel):
        kind: Literal["card"]
        digits: list[int]

    class Cash(BaseModel):
        kind: Literal["cash"]
        amount: int

    @tool
    def pay(
        method: Annotated[Card | Cash, Field(discriminator="kind")],
        plain: Card | Cash | None = None,
        n: int | list[int] = 1,
    ) -> None: ...

    card = {"kind": "card", "digits": "[1, 2]"}
    assert check_arguments(pay, {"method": card, "plain": card, "n": "[3]"}) == {
        "method": Card(kind="card", digits=[1, 2]),
        "plain": Card(kind="card", digits=[1, 2]),
        "n": [3],
    }
    assert "- method.amount: " in rejected(pay, {"method": {"kind": "cash", "amount": True}})


def test_a_validator_of_the_type_has_the_last_word() -> None:
    def split(value: Any) -> Any:
        return value.split(",") if isinstance(value, str) else value

    class Even(BaseModel):
        number: int

        @field_validator("number")
        @classmethod
        def even(cls, value: int) -> int:
            if value % 2:
                raise ValueError("must be even")
            return value

    @tool
    def use(words: Annotated[list[str], BeforeValidator(split)], even: Even | None = None) -> None: ...

    assert check_arguments(use, {"words": "a,b"}) == {"words": ["a", "b"]}
    assert "- even.number: must be even; got 3" in rejected(use, {"words": [], "even": {"number": 3}})


def test_a_strict_model_is_read_as_json_is() -> None:
    class Strict(BaseModel):
        model_config = ConfigDict(strict=True)
        day: datetime.date
        pair: tuple[int, int]

    @tool
    def use(strict: Strict) -> None: ...

    given = {"strict": {"day": "2026-01-02", "pair": [1, 2]}}
    assert check_arguments(use, given) == {"strict": Strict(day=datetime.date(2026, 1, 2), pair=(1, 2))}


def test_a_lone_surrogate_becomes_a_replacement_character() -> None:
    assert check_arguments(find, {"q": "price \udc81 🙂"})["q"] == "price � 🙂"


def test_what_the_model_sent_is_never_changed() -> None:
    @tool
    def take(data: dict[str, Any], items: list[list[int]]) -> None: ...

    given = {"data": {"deep": {"a": [1]}}, "items": "[[1]]"}
    arguments = check_arguments(take, given)
    arguments["data"]["deep"]["a"].append(2)
    assert given == {"data": {"deep": {"a": [1]}}, "items": "[[1]]"}


@pytest.mark.parametrize("given", ['{"q": "a"}', {"q": "a"}])
def test_an_object_in_a_string_is_read(given: Any) -> None:
    assert check_arguments(find, given) == {"q": "a"}


@pytest.mark.parametrize("given", [None, "", "  "])
def test_nothing_is_an_empty_object(given: Any) -> None:
    assert "- q: is required" in rejected(find, given)


@pytest.mark.parametrize("given", [[1], '{"q": ', "[]", 5, True, "[" * 100_000])
def test_arguments_that_are_no_object_are_refused(given: Any) -> None:
    text = rejected(find, given)
    assert text.startswith("The arguments are not a JSON object, so the tool was not run; got ")
    assert len(text) < 300


def test_arguments_nested_beyond_measure_are_refused() -> None:
    deep: list[Any] = []
    for _ in range(5000):
        deep = [deep]

    @tool
    def take(items: list[Any]) -> None: ...

    assert "nested too deeply" in rejected(take, {"items": deep})


def test_an_iterable_is_validated_at_once() -> None:
    @tool
    def take(numbers: Iterable[int]) -> None: ...

    assert check_arguments(take, {"numbers": ["1"]}) == {"numbers": [1]}
    assert "- numbers[0]: must be an integer" in rejected(take, {"numbers": ["x"]})


def test_many_faults_are_named_up_to_a_number() -> None:
    @tool
    def take(numbers: list[int]) -> None: ...

    text = rejected(take, {"numbers": ["x"] * 40})
    assert "- numbers[11]: must be an integer" in text
    assert "- and 28 more" in text
    assert "numbers[12]" not in text
