"""JSON text: compact, real characters, slices as they were sent."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnkeeper.wire.json import (
    NestedTooDeepError,
    decode,
    encode,
    fold_surrogates,
    raw_elements,
    raw_members,
    sendable,
)

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)


def test_text_is_written_with_its_real_characters_and_no_spaces() -> None:
    assert encode({"имя": "日本語 🙂", "list": [1, None]}) == '{"имя":"日本語 🙂","list":[1,null]}'


def test_a_lone_surrogate_becomes_the_replacement_character_and_a_pair_is_joined() -> None:
    assert fold_surrogates("a\udc81b") == "a\ufffdb"
    assert fold_surrogates("\ud83d" + "\ude42") == "🙂"
    assert encode("\ud83d") == '"\ufffd"'


def test_nan_is_refused() -> None:
    with pytest.raises(ValueError, match="Out of range float"):
        encode(float("nan"))


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity", '{"score": NaN}', "[1e999]", "-1e400", "9" * 5_000])
def test_what_could_not_be_written_down_again_is_not_read(text: str) -> None:
    for read in (decode, lambda one: raw_elements(f"[{one}]"), lambda one: raw_members(f'{{"a":{one}}}')):
        with pytest.raises(ValueError, match=r"is not JSON|too large|Exceeds the limit"):
            read(text)


def test_numbers_within_reach_are_read_as_ever() -> None:
    assert decode("[1.50, -0.0, 1e308, 1e-999, 12345678901234567890]") == [1.5, 0.0, 1e308, 0.0, 12345678901234567890]


def nested(levels: int) -> str:
    return '{"a":[' * (levels // 2) + "[" * (levels % 2) + "]" * (levels % 2) + "]}" * (levels // 2)


@pytest.mark.parametrize("levels", [1, 2, 7, 8])
def test_nesting_is_counted_in_levels(levels: int) -> None:
    text = nested(levels)
    assert decode(text, most_nested=levels) == decode(text)
    with pytest.raises(NestedTooDeepError):
        decode(text, most_nested=levels - 1)
    assert decode("[[],[],{},[]]", most_nested=2) == [[], [], {}, []]


def test_nesting_beyond_what_python_reads_is_a_value_error() -> None:
    deep = nested(5_000)
    for read in (decode, lambda text: raw_elements(f"[{text}]"), raw_members):
        with pytest.raises(NestedTooDeepError):
            read(deep)


def test_raw_elements_are_the_very_text_of_each_element() -> None:
    text = ' [ {"a" : 1.0e5, "b":"\\u0041"} ,\n[1, 2],"x" , -0.0 ] '
    assert raw_elements(text) == ['{"a" : 1.0e5, "b":"\\u0041"}', "[1, 2]", '"x"', "-0.0"]
    assert raw_elements("[]") == []


def test_raw_members_are_the_very_text_of_each_value() -> None:
    assert raw_members('{"b" : [1 , 2], "a":{"x": 1}}') == {"b": "[1 , 2]", "a": '{"x": 1}'}
    assert raw_members(" {} ") == {}


@pytest.mark.parametrize("text", ["", "1", "[1 2]", "[1,", '{"a" 1}', "[", "{1:2}", '{"a":}', '{"a":1 "b":2}'])
def test_broken_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"line 1 column"):
        raw_elements(text)
    with pytest.raises(ValueError, match=r"line 1 column"):
        raw_members(text)


def test_text_stays_as_it_is_unless_an_escape_hides_a_lone_surrogate() -> None:
    assert sendable('{"a" : "\\ud83d\\ude42"}') == '{"a" : "\\ud83d\\ude42"}'
    assert sendable('{"a" : "x\\ud83d"}') == '{"a":"x\ufffd"}'
    assert sendable('{"a" : "\\u00e9"}') == '{"a" : "\\u00e9"}'


@given(VALUES)
def test_whatever_is_encoded_can_be_sent_and_read_back(value: object) -> None:
    text = encode(value)
    text.encode()
    again = decode(text)
    assert encode(again) == text


@given(st.lists(VALUES), st.sampled_from([None, 1, 2]))
def test_elements_cut_from_any_spelling_are_the_elements(values: list[object], indent: int | None) -> None:
    text = json.dumps(values, indent=indent)
    assert [json.loads(one) for one in raw_elements(text)] == json.loads(text)


@given(st.dictionaries(st.text(), VALUES), st.sampled_from([None, 1]))
def test_members_cut_from_any_spelling_are_the_members(values: dict[str, object], indent: int | None) -> None:
    text = json.dumps(values, indent=indent)
    assert {key: json.loads(one) for key, one in raw_members(text).items()} == json.loads(text)
