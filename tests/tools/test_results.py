"""Results as text: each Python type in its documented form, blank results, cut results, real characters."""

from __future__ import annotations

import collections
import dataclasses
import datetime
import enum
import fractions
import ipaddress
import itertools
import json
import pathlib
import sqlite3
import uuid
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import pytest
from pydantic import BaseModel, SecretStr

from turnkeeper.tools import ITEM_LIMIT, PLACEHOLDER, UnrenderableError, render_result

UTC = datetime.UTC


class Level(enum.Enum):
    HIGH = "hoch"


class Number(enum.IntEnum):
    ONE = 1


class Word(enum.StrEnum):
    YES = "да"


@dataclasses.dataclass
class Point:
    x: int
    when: datetime.date


class Pair(NamedTuple):
    left: int
    right: str


class Order(BaseModel):
    id: int
    price: Decimal
    took: datetime.timedelta
    secret: SecretStr = SecretStr("hunter2")


class Version:
    def __str__(self) -> str:
        return "v1.2"


def rendered(value: Any) -> str:
    text = render_result(value)
    assert isinstance(text, str)
    return text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("plain", "plain"),
        ('{"a": 1}', '{"a": 1}'),
        (5, "5"),
        (True, "true"),
        (1.5, "1.5"),
        ([], "[]"),
        ({}, "{}"),
        ([1, None, "а"], '[1,null,"а"]'),
        ((1, (2,)), "[1,[2]]"),
        ({3, 1, 2}, "[1,2,3]"),
        (frozenset({"b", "a"}), '["a","b"]'),
        (collections.deque([1]), "[1]"),
        (range(3), "[0,1,2]"),
        ({"k": 1}.items(), '[["k",1]]'),
        (datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), "2026-01-02T03:04:05+00:00"),
        (datetime.date(2026, 1, 2), "2026-01-02"),
        (datetime.time(9, 30), "09:30:00"),
        (Decimal("12.30"), "12.30"),
        ([Decimal("1E+3"), Decimal("NaN"), Decimal("-Infinity")], '["1E+3","NaN","-Infinity"]'),
        ([float("nan"), float("inf"), float("-inf")], '["NaN","Infinity","-Infinity"]'),
        (float("nan"), "NaN"),
        (Level.HIGH, "hoch"),
        ([Number.ONE, Word.YES], '[1,"да"]'),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (pathlib.PurePosixPath("/a/б"), "/a/б"),
        (ipaddress.ip_address("127.0.0.1"), "127.0.0.1"),
        (fractions.Fraction(1, 3), "1/3"),
        (Version(), "v1.2"),
        (Point(1, datetime.date(2026, 1, 2)), '{"x":1,"when":"2026-01-02"}'),
        (Pair(1, "r"), '{"left":1,"right":"r"}'),
        ([Pair(1, "r")], '[{"left":1,"right":"r"}]'),
        (b"\x00\x01", "data:application/octet-stream;base64,AAE="),
        (bytearray(b"%PDF-1.7"), "data:application/pdf;base64,JVBERi0xLjc="),
        ({"raw": memoryview(b"a")}, '{"raw":"data:application/octet-stream;base64,YQ=="}'),
        ({7: "a", None: "b", (2, 3): "d"}, '{"7":"a","null":"b","[2,3]":"d"}'),
        ({1: "a", "1": "b"}, '[[1,"a"],["1","b"]]'),
        ({datetime.date(2026, 1, 2): Level.HIGH}, '{"2026-01-02":"hoch"}'),
        (collections.OrderedDict(b=1, a=2), '{"b":1,"a":2}'),
        (np.float64(1.5), "1.5"),
        (np.int32(7), "7"),
        (np.bool_(True), "true"),
        (np.float32("nan"), "NaN"),
        (np.datetime64("2026-01-02"), "2026-01-02"),
        (np.array([[1, 2], [3, 4]]), "[[1,2],[3,4]]"),
        ({"m": np.array([1.0, np.inf])}, '{"m":[1.0,"Infinity"]}'),
        ((number for number in (1, 2)), "[1,2]"),
        ({"inner": map(str, [1])}, '{"inner":["1"]}'),
        ([10**5000], f'["{hex(10**5000)}"]'),
        ("\x1b[31m\n", "\x1b[31m\n"),
        (["\x00"], '["\\u0000"]'),
    ],
)
def test_every_type_has_its_documented_form(value: Any, text: str) -> None:
    assert rendered(value) == text


@pytest.mark.parametrize(
    ("span", "text"),
    [
        ({"seconds": 90}, "PT1M30S"),
        ({}, "PT0S"),
        ({"days": 400, "microseconds": 5}, "P400DT0.000005S"),
        ({"days": 2}, "P2D"),
        ({"hours": 1, "milliseconds": 1500}, "PT1H1.5S"),
        ({"days": -1, "hours": -2}, "-P1DT2H"),
    ],
)
def test_a_timedelta_is_an_iso_duration(span: dict[str, float], text: str) -> None:
    assert rendered(datetime.timedelta(**span)) == text


def test_moments_in_a_result_are_json() -> None:
    """Report B01-datetime-in-result.

    https://github.com/microsoft/agent-framework/issues/2219
    """
    placed = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    order = {
        "id": 7,
        "placed": placed,
        "day": datetime.date(2026, 1, 2),
        "at": datetime.time(9, 30),
        "took": datetime.timedelta(seconds=90),
    }
    text = rendered(order)
    parsed = json.loads(text)
    assert datetime.datetime.fromisoformat(parsed.pop("placed")) == placed
    assert parsed == {"id": 7, "day": "2026-01-02", "at": "09:30:00", "took": "PT1M30S"}
    assert "datetime." not in text


def test_real_characters_and_no_escapes() -> None:
    """Report B02-ensure-ascii.

    https://github.com/microsoft/autogen/pull/7730
    """
    value = {"名前": "日本語 é 🙂", "rows": ["한국어"] * 50, "rtl": "שלום", "separator": "\u2028"}
    text = rendered(value)
    assert json.loads(text) == value
    assert "\\u" not in text
    assert len(text) < 2 * (len("名前日本語 é 🙂rowsrtlשלוםseparator") + 50 * len('"한국어",'))


@pytest.mark.parametrize(
    "value", ["price \udc81 list 🙂", ["price \udc81 list 🙂"], {"price \udc81 list 🙂": "\ud800"}]
)
def test_a_lone_surrogate_becomes_a_replacement_character(value: Any) -> None:
    text = rendered(value)
    text.encode("utf-8")
    assert "price � list 🙂" in text


def test_a_surrogate_pair_becomes_its_character() -> None:
    assert rendered("\ud83d\ude42 \ud83d") == "🙂 �"


@pytest.mark.parametrize("value", [None, "", "  ", "\n\n", "\u3000\xa0"])
def test_a_blank_result_has_a_placeholder(value: Any) -> None:
    """Report A33-whitespace-only-text-from-model.

    https://github.com/nick1udwig/kibitz/issues/78
    """
    assert rendered(value) == PLACEHOLDER == "(no output)"


def test_models_are_objects_and_their_secrets_stay_hidden() -> None:
    order = Order(id=1, price=Decimal("9.90"), took=datetime.timedelta(seconds=90))
    assert rendered(order) == '{"id":1,"price":"9.90","took":"PT1M30S","secret":"**********"}'
    assert rendered([order.secret]) == '["**********"]'


def test_a_model_with_bytes_that_are_no_text_is_still_an_object() -> None:
    class File(BaseModel):
        data: bytes

    assert rendered(File(data=b"\xff\xd8\xff")) == '{"data":"data:image/jpeg;base64,/9j/"}'


def test_database_rows_are_objects() -> None:
    connection = sqlite3.connect(":memory:")
    try:
        connection.row_factory = sqlite3.Row
        assert rendered(connection.execute("select 1 as one, 'б' as two").fetchall()) == '[{"one":1,"two":"б"}]'
    finally:
        connection.close()


def test_an_endless_iterator_is_read_to_a_bound_and_says_so() -> None:
    items = json.loads(str(render_result(itertools.count(), limit=10**6)))
    assert items[:3] == [0, 1, 2]
    assert len(items) == ITEM_LIMIT + 1
    assert items[-1] == "[truncated: more than 10000 items, the rest was not read]"
    assert "truncated" not in str(render_result(iter(range(ITEM_LIMIT)), limit=10**6))


@pytest.mark.parametrize("value", ["ж" * 1000, {"a": "ж" * 1000}, 10**1500])
def test_a_huge_result_is_cut_with_a_mark_that_says_how_much(value: Any) -> None:
    whole = rendered(value)
    text = render_result(value, limit=300)
    assert isinstance(text, str)
    assert 298 <= len(text) <= 300
    head, mark = text.split("\n")
    assert whole.startswith(head)
    assert mark == f"[truncated: {len(whole) - len(head)} of {len(whole)} characters were cut]"


def test_a_result_at_the_limit_is_whole() -> None:
    assert render_result("x" * 300, limit=300) == "x" * 300
    assert len(str(render_result("x" * 200_000))) == 100_000


def cyclic() -> list[Any]:
    items: list[Any] = [1]
    items.append({"again": items})
    return items


def deep() -> list[Any]:
    items: list[Any] = []
    for _ in range(5000):
        items = [items]
    return items


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (cyclic(), "contains itself"),
        (deep(), "nested too deeply"),
        (object(), "a object has no JSON form"),
        ([Point], "a type has no JSON form"),
        (len, "has no JSON form"),
        (ValueError("secret"), "a ValueError has no JSON form"),
    ],
)
def test_what_has_no_form_is_an_error(value: Any, words: str) -> None:
    with pytest.raises(UnrenderableError, match=words):
        render_result(value)


def test_the_same_object_twice_is_no_cycle() -> None:
    shared = {"a": 1}
    assert rendered([shared, shared]) == '[{"a":1},{"a":1}]'


def test_generators_inside_generators_and_large_items_end_as_well() -> None:
    def numbers() -> Iterator[int]:
        taken.append(1)
        yield from itertools.count()

    taken: list[int] = []
    rendered = str(render_result({"all": (numbers() for _ in itertools.count())}, limit=10**9))
    assert len(taken) == ITEM_LIMIT
    assert len(rendered) < 2_000_000  # nine of them give ten thousand each, the others no more
    assert "[truncated: more than 0 items, the rest was not read]" in rendered

    pieces = ("ж" * 1_000_000 for _ in itertools.count())
    rendered = str(render_result(pieces, limit=10**9))
    assert rendered.count("ж") == 11_000_000
    assert "[truncated: more than 10000000 characters, the rest was not read]" in rendered
    rows = ({"note": "y" * 6_000_000} for _ in itertools.count())
    assert str(render_result(rows, limit=10**9)).count("note") == 2
