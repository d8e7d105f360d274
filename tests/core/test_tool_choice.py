"""`tool_choice`: what is sent, what is refused before anything is."""

from __future__ import annotations

from typing import Any

import pytest

from turnkeeper.core.tool_choice import check_tool_choice, choice_for_request, parse_tool_choice
from turnkeeper.errors import ConfigurationError


@pytest.mark.parametrize(
    ("given", "parallel_off", "sent"),
    [
        ("auto", False, {"type": "auto"}),
        ("any", False, {"type": "any"}),
        ("none", True, {"type": "none"}),
        ("get_user", True, {"type": "tool", "name": "get_user", "disable_parallel_tool_use": True}),
        ({"type": "tool", "name": "f"}, False, {"type": "tool", "name": "f"}),
        ("auto", True, {"type": "auto", "disable_parallel_tool_use": True}),
    ],
)
def test_words_names_and_objects_are_understood(given: Any, parallel_off: bool, sent: dict[str, Any]) -> None:
    assert parse_tool_choice(given, disable_parallel=parallel_off) == sent


@pytest.mark.parametrize("given", [{"type": "some"}, {}, 5, {"type": "tool"}, ["any"], ""])
def test_what_is_no_choice_is_refused(given: Any) -> None:
    with pytest.raises(ConfigurationError, match="tool"):
        parse_tool_choice(given)


def check(
    choice: dict[str, Any], *, names: tuple[str, ...] = ("f",), support: str = "yes", thinking: str | None = None
) -> None:
    check_tool_choice(choice, names=names, model="claude-x", forced_support=support, thinking=thinking)


def test_a_forced_choice_is_refused_with_the_reason_where_it_can_not_hold() -> None:
    """Report A39-forced-choice-rejected-by-model.

    https://github.com/langchain-ai/langchain-aws/pull/927
    """
    with pytest.raises(ConfigurationError, match="needs tools"):
        check({"type": "any"}, names=())
    with pytest.raises(ConfigurationError, match="not among the tools: f"):
        check({"type": "tool", "name": "g"})
    with pytest.raises(ConfigurationError, match="claude-x refuses a forced choice"):
        check({"type": "any"}, support="no")
    with pytest.raises(ConfigurationError, match="while thinking is on"):
        check({"type": "any"}, support="not_with_thinking", thinking="adaptive")
    with pytest.raises(ConfigurationError, match="while thinking is on"):
        check({"type": "any"}, thinking="enabled")


def test_what_is_allowed_passes() -> None:
    check({"type": "any"})
    check({"type": "any"}, support="not_with_thinking", thinking="disabled")
    check({"type": "any"}, support="unknown", thinking="adaptive")
    check({"type": "auto"}, names=(), support="no")
    check({"type": "none"}, support="no", thinking="enabled")


def test_a_forced_choice_holds_only_while_it_is_forced_so_that_it_can_not_loop() -> None:
    """Report A18-forced-tool-choice-loops.

    https://github.com/openai/openai-agents-python/pull/263
    """
    forced = {"type": "tool", "name": "f", "disable_parallel_tool_use": True}
    assert choice_for_request(forced, has_tools=True, forced=True) == forced
    assert choice_for_request(forced, has_tools=True, forced=False) == {
        "type": "auto",
        "disable_parallel_tool_use": True,
    }
    assert choice_for_request({"type": "any"}, has_tools=True, forced=False) is None


def test_auto_is_not_sent_and_without_tools_nothing_is() -> None:
    assert choice_for_request({"type": "auto"}, has_tools=True, forced=True) is None
    assert choice_for_request({"type": "none"}, has_tools=False, forced=True) is None
    assert choice_for_request({"type": "none"}, has_tools=True, forced=False) == {"type": "none"}
