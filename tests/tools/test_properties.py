"""Properties: whatever JSON comes or goes, arguments are validated or refused in words, results can be read back."""

from __future__ import annotations

import contextlib
import json
from typing import Any, Literal

from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from turnkeeper.tools import ArgumentsRejectedError, Tool, check_arguments, render_result, tool

texts = st.text(st.characters(codec="utf-8"))
any_texts = st.text(st.characters())  # lone surrogates too
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)


def json_values(strings: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    return st.recursive(
        scalars | strings,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(strings, inner, max_size=4),
        max_leaves=12,
    )


def blocks_apart(value: Any) -> bool:
    """Not what is sent as content blocks."""
    return isinstance(render_result(value), str)


@given(json_values(texts).filter(blocks_apart))
def test_a_json_value_is_rendered_so_that_it_reads_back_equal(value: Any) -> None:
    text = render_result(value, limit=10**9)
    assert isinstance(text, str)
    if isinstance(value, str):
        assert text == (value if value.strip() else "(no output)")
    elif value is None:
        assert text == "(no output)"
    else:
        assert json.loads(text) == value
        assert json.dumps(json.loads(text), ensure_ascii=False, separators=(",", ":")) == text


@given(json_values(any_texts), st.integers(200, 400))
def test_any_rendering_is_sendable_and_within_its_limit(value: Any, limit: int) -> None:
    content = render_result(value, limit=limit)
    json.dumps(content, ensure_ascii=False).encode("utf-8")
    if isinstance(content, str):
        assert content.strip()
        assert len(content) <= limit


class Part(BaseModel):
    name: str
    size: int | None = None
    inner: list[Part] = []


@tool
def busy(
    number: int,
    text: str = "",
    flag: bool = False,
    ratio: float | None = None,
    words: list[str] | str = "",
    part: Part | None = None,
    by_name: dict[str, Part] = {},  # noqa: B006
    mode: Literal["a", "b", 1] = "a",
) -> None: ...


brought = Tool.from_schema("brought", "", busy.input_schema, lambda **_: None)
names = st.sampled_from([*busy.input_schema["properties"], "name", "size", "inner"])
arguments = st.recursive(
    scalars | any_texts | st.sampled_from(["5", "true", "null", "[]", "{}", '["x"]', '{"name":"a"}', "1e999", "nan"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names | any_texts, inner, max_size=4),
    max_leaves=10,
)


@settings(max_examples=300)
@given(st.dictionaries(names | any_texts, arguments, max_size=5), st.sampled_from([busy, brought]))
def test_any_arguments_either_validate_or_are_refused_in_words(given_arguments: dict[str, Any], made: Tool) -> None:
    before = json.dumps(given_arguments)
    try:
        validated = check_arguments(made, given_arguments)
    except ArgumentsRejectedError as error:
        text = str(error)
        assert text.strip()
        text.encode("utf-8")
        # A refusal names the arguments, and Hypothesis draws on words of this package.
        assert "pydantic" in before or "pydantic" not in text
    else:
        assert set(validated) <= set(given_arguments)
        assert type(validated["number"]) is int
        assert type(validated.get("flag", True)) is bool
        assert type(validated.get("text", "")) is str
    assert json.dumps(given_arguments) == before


@given(arguments)
def test_arguments_that_may_be_anything_never_crash_the_check(value: Any) -> None:
    with contextlib.suppress(ArgumentsRejectedError):
        assert check_arguments(busy, value)
