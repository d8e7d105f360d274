"""The page on the lessons: each function is there, its place exists, and so does each test that it names."""

from __future__ import annotations

import ast
import functools
import importlib
import re
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.docs.blocks import ROOT
from turnkeeper.cli.main import COMMANDS

PAGE = ROOT / "docs" / "from-the-lesson.md"
LESSONS = {
    *("run_conversation", "run_tools", "run_tool", "add_user_message", "add_assistant_message", "chat"),
    *("text_from_message", "get_current_datetime", "add_duration_to_datetime", "set_reminder", "run_batch"),
    *("calculator", "process_tool_call", "simple_chat", "extract_reply", "get_user", "get_user_info"),
    *("get_order_by_id", "get_customer_orders", "cancel_order", "update_contact", "print_sentiment_scores"),
    *("print_entities", "print_article_classification"),
    *("analyze_tweet_sentiment", "web_search", "chat_with_web_search", "sms_chatbot", "send_text_to_user"),
    *("get_customer_info", "get_article", "answer_question"),
}
"""The functions of the lessons."""


class Row(NamedTuple):
    function: str
    places: list[str]
    fault: str
    tests: list[str]


def rows() -> list[Row]:
    found = []
    for line in PAGE.read_text("utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("| `"):
            continue
        assert len(cells) == 4, line
        named, places, fault, tests = cells
        (function,) = quoted(named)  # one function, one row
        found.append(Row(function, quoted(places), fault, quoted(tests)))
    return found


def quoted(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


ROWS = rows()


def test_every_function_of_the_lessons_has_a_row_of_its_own() -> None:
    assert sorted(row.function for row in ROWS) == sorted(LESSONS)


def test_no_two_rows_are_the_same() -> None:
    """Two functions may go to one place; what was wrong with each, and what shows it, is its own."""
    assert len({row.fault for row in ROWS}) == len(ROWS)
    assert len({tuple(row.tests) for row in ROWS}) == len(ROWS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.function)
def test_a_row_says_where_what_and_how_it_is_shown(row: Row) -> None:
    assert row.places
    assert row.fault.endswith(".")
    assert row.tests


@pytest.mark.parametrize("place", sorted({place for row in ROWS for place in row.places}))
def test_a_place_exists(place: str) -> None:
    if place.startswith("turnkeeper "):
        assert place.split()[1] in COMMANDS
        return
    found: object = importlib.import_module("turnkeeper")
    for name in place.split(".")[1:]:
        if hasattr(found, name) or name in getattr(found, "__dataclass_fields__", {}):
            found = getattr(found, name, found)
        else:
            found = importlib.import_module(f"{getattr(found, '__name__', '')}.{name}")


@pytest.mark.parametrize("test", sorted({test for row in ROWS for test in row.tests}))
def test_a_test_exists(test: str) -> None:
    path, _, name = test.partition("::")
    assert name in functions_of(ROOT / path)


@functools.cache
def functions_of(path: Path) -> set[str]:
    tree = ast.parse(path.read_text("utf-8"))
    return {node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))}
