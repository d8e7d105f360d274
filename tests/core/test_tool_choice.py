"""`tool_choice`: what is sent, what is said in words, what a reply is held against, what is refused at once."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from turnkeeper.core.replies import REPLY_TABLE, Action, Shape, Verdict, judge
from turnkeeper.core.tool_choice import (
    CHOICE_TABLE,
    MET,
    ROUTE_TABLE,
    UNMET,
    Came,
    Route,
    came,
    check_tool_choice,
    choice_for_request,
    guidance,
    held_against,
    parse_tool_choice,
    route_for,
    was_refused,
)
from turnkeeper.errors import ConfigurationError
from turnkeeper.types import TurnStatus

ANY, NONE, LOOKUP = {"type": "any"}, {"type": "none"}, {"type": "tool", "name": "lookup"}
TEXT = {"type": "text", "text": "Нет."}
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
RUN = Verdict(action=Action.RUN_CALLS, kept=True)
END = Verdict(action=Action.END, kept=True, status=TurnStatus.COMPLETED)


def calls(*names: str) -> list[dict[str, Any]]:
    return [{"type": "tool_use", "id": name, "name": name, "input": {}} for name in names]


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


def test_a_choice_that_no_model_could_keep_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="tool_choice 'any' needs tools"):
        check_tool_choice(ANY, names=(), model="m", route=None)
    with pytest.raises(ConfigurationError, match="tool_choice 'lookup' is not among the tools: f"):
        check_tool_choice(LOOKUP, names=("f",), model="m", route=None)
    check_tool_choice({"type": "auto"}, names=(), model="m", route=Route.FREE)
    check_tool_choice(NONE, names=(), model="m", route=Route.NATIVE)


def test_on_demand_a_choice_that_would_have_to_be_said_in_words_is_refused() -> None:
    """Report A39-forced-choice-rejected-by-model: the strict policy.

    https://github.com/langchain-ai/langchain-aws/pull/927
    """
    with pytest.raises(ConfigurationError, match="claude-x refuses a forced choice"):
        check_tool_choice(ANY, names=("f",), model="claude-x", route=Route.GUIDED)
    check_tool_choice(ANY, names=("f",), model="claude-x", route=Route.NATIVE)


def test_both_tables_are_closed() -> None:
    supports = ("yes", "no", "not_with_thinking", "unknown")
    assert set(ROUTE_TABLE) == set(itertools.product(("auto", "none", "forced"), supports, (False, True)))
    assert set(CHOICE_TABLE) == set(itertools.product(("auto", "any", "tool", "none"), Came))


@pytest.mark.parametrize(
    ("choice", "support", "thinking", "route"),
    [
        (None, "no", None, Route.FREE),
        ({"type": "auto"}, "no", "enabled", Route.FREE),
        (NONE, "no", "adaptive", Route.NATIVE),
        (ANY, "yes", None, Route.NATIVE),
        (ANY, "yes", "adaptive", Route.NATIVE),
        (LOOKUP, "unknown", None, Route.NATIVE),
        (LOOKUP, "no", None, Route.GUIDED),
        (ANY, "not_with_thinking", None, Route.NATIVE),
        (ANY, "not_with_thinking", "enabled", Route.GUIDED),
        (ANY, "yes", "enabled", Route.GUIDED),
    ],
)
def test_the_route_is_looked_up(choice: Any, support: str, thinking: str | None, route: Route) -> None:
    assert route_for(choice, support=support, thinking=thinking) is route


def test_a_forced_choice_is_sent_only_while_it_is_in_force_so_that_it_can_not_loop() -> None:
    """Report A18-forced-tool-choice-loops.

    https://github.com/openai/openai-agents-python/pull/263
    """
    forced = LOOKUP | {"disable_parallel_tool_use": True}
    assert choice_for_request(forced, has_tools=True, in_force=True, native=True) == forced
    one_by_one = {"type": "auto", "disable_parallel_tool_use": True}
    assert choice_for_request(forced, has_tools=True, in_force=False, native=True) == one_by_one
    assert choice_for_request(forced, has_tools=True, in_force=True, native=False) == one_by_one
    assert choice_for_request(ANY, has_tools=True, in_force=False, native=True) is None


def test_auto_is_not_sent_and_without_tools_nothing_is() -> None:
    assert choice_for_request({"type": "auto"}, has_tools=True, in_force=True, native=True) is None
    assert choice_for_request(None, has_tools=True, in_force=False, native=True) is None
    assert choice_for_request(NONE, has_tools=False, in_force=True, native=True) is None
    assert choice_for_request(NONE, has_tools=True, in_force=True, native=True) == NONE
    assert choice_for_request(NONE, has_tools=True, in_force=True, native=False) is None


@pytest.mark.parametrize(
    ("choice", "blocks", "found"),
    [
        (ANY, [TEXT], Came.NO_CALL),
        (ANY, [], Came.NO_CALL),
        (ANY, [TEXT, *calls("lookup")], Came.CALL),
        (ANY, calls("invented"), Came.OTHER_CALL),
        (ANY, calls("invented", "lookup"), Came.CALL),
        (ANY, calls("lookup", "invented"), Came.CALL),
        (ANY, [SEARCH], Came.CALL),
        (ANY, [{"type": "tool_use", "id": "a", "name": "click", "toolset_name": "browser", "input": {}}], Came.CALL),
        (LOOKUP, calls("lookup", "lookup"), Came.CALL),
        (LOOKUP, calls("other"), Came.OTHER_CALL),
        (LOOKUP, calls("lookup", "other"), Came.OTHER_CALL),
        (LOOKUP, calls("other", "lookup"), Came.OTHER_CALL),
        (LOOKUP, [SEARCH], Came.NO_CALL),
        (LOOKUP, [SEARCH, *calls("lookup")], Came.CALL),
        ({"type": "tool", "name": "web_search"}, [SEARCH], Came.CALL),
        (NONE, [TEXT], Came.NO_CALL),
        (NONE, calls("lookup"), Came.CALL),
        (NONE, calls("invented"), Came.OTHER_CALL),
        (NONE, [SEARCH], Came.CALL),
        (ANY, [{"type": "tool_use", "id": "a", "name": None, "input": {}}], Came.OTHER_CALL),
    ],
)
def test_what_came_is_read_off_the_blocks(choice: dict[str, Any], blocks: list[dict[str, Any]], found: Came) -> None:
    assert came(choice, blocks, names=("lookup", "other")) is found


def held(verdict: Verdict, choice: Any, blocks: Any, *, in_force: bool = True, unmet: int = 0, asks: int = 2) -> Any:
    return held_against(verdict, choice, blocks, names=("lookup", "other"), in_force=in_force, unmet=unmet, asks=asks)


def test_a_reply_that_keeps_to_the_choice_passes_with_its_verdict() -> None:
    assert held(RUN, ANY, calls("lookup")) == (RUN, MET)
    assert held(END, NONE, [TEXT]) == (END, MET)


def test_one_that_breaks_it_is_asked_for_again_as_often_as_may_be_and_then_the_turn_fails() -> None:
    for verdict, choice, blocks in ((END, ANY, [TEXT]), (RUN, LOOKUP, calls("other")), (RUN, NONE, calls("lookup"))):
        again = Verdict(action=Action.REMIND, kept=False, reason="tool_choice_unmet")
        assert held(verdict, choice, blocks, unmet=0) == (again, UNMET)
        assert held(verdict, choice, blocks, unmet=1) == (again, UNMET)
        failed = Verdict(action=Action.DISCARD, kept=False, status=TurnStatus.FAILED, reason="tool_choice_unmet")
        assert held(verdict, choice, blocks, unmet=2) == (failed, UNMET)
        assert held(verdict, choice, blocks, unmet=0, asks=0) == (failed, UNMET)


def test_auto_and_a_choice_that_was_kept_before_have_no_say() -> None:
    assert held(END, None, [TEXT]) == (END, None)
    assert held(END, {"type": "auto"}, [TEXT]) == (END, None)
    assert held(END, ANY, [TEXT], in_force=False) == (END, None)


def test_no_row_of_the_reply_table_lets_a_broken_choice_end_as_completed_or_run_its_calls() -> None:
    """Whatever stop reason an endpoint gives."""
    shapes: dict[Shape, list[Any]] = {Shape.CALLS: calls("other"), Shape.CONTENT: [TEXT], Shape.EMPTY: []}
    full = {Action.ASK_AGAIN: 9, Action.ENLARGE: 9, Action.RESEND: 9}
    for (stop, shape), used in itertools.product(REPLY_TABLE, ({}, full)):
        verdict = judge(stop, shape, used=used, max_tokens=10, most_tokens=None)
        after, word = held(verdict, LOOKUP, shapes[shape])
        assert after.action is not Action.RUN_CALLS
        assert after.status is not TurnStatus.COMPLETED
        assert (word == UNMET) == (after.action is Action.REMIND)
        forbidden, _ = held(verdict, NONE, shapes[shape])
        assert forbidden.action is not Action.RUN_CALLS


def test_a_paused_reply_leaves_a_forced_choice_open_unless_it_kept_to_it() -> None:
    paused = Verdict(action=Action.RESEND, kept=True)
    assert held(paused, LOOKUP, [SEARCH]) == (paused, None)
    assert held(paused, ANY, [SEARCH]) == (paused, MET)
    assert held(paused, NONE, [TEXT]) == (paused, MET)
    assert held(paused, NONE, [SEARCH])[1] == UNMET


@pytest.mark.parametrize(
    ("choice", "support", "status", "message", "refused"),
    [
        (ANY, "unknown", 400, "whatever it says", True),
        (ANY, "unknown", 422, "unprocessable", True),
        (ANY, "yes", 400, "Thinking may not be enabled when tool_choice forces tool use.", True),
        (ANY, "yes", 400, "messages: text content blocks must be non-empty", False),
        (NONE, "unknown", 400, "[{'loc': ('body', 'tool_choice', 'type'), 'input': 'none'}]", True),
        (NONE, "unknown", 400, "something else", False),
        (NONE, "unknown", 500, "Incompatible tool choice param submitted - {'type': 'none'}", True),
        (ANY, "unknown", 500, "out of memory", False),
        (ANY, "unknown", None, "the connection failed: tool_choice", False),
        (ANY, "unknown", 200, "tool_choice", False),
        ({"type": "auto", "disable_parallel_tool_use": True}, "unknown", 400, "tool_choice", False),
        (None, "unknown", 400, "tool_choice", False),
    ],
)
def test_a_refusal_of_the_choice_is_told_from_other_failures(
    choice: Any, support: str, status: int | None, message: str, refused: bool
) -> None:
    assert was_refused(choice, support=support, status=status, message=message) is refused


def test_the_choice_in_words_names_the_tool_and_holds_for_one_reply() -> None:
    assert guidance(LOOKUP, reminder=False) == (
        "[From the application, not from the user: In your next reply, call the tool `lookup` and no other tool."
        " Once you have the result, go on as you see fit.]"
    )
    assert guidance(ANY, reminder=True) == (
        "[From the application, not from the user: Your last reply was left out, because it called none of your tools."
        " In your next reply, call at least one of your tools. Once you have the result, go on as you see fit.]"
    )
    assert guidance(NONE, reminder=True) == (
        "[From the application, not from the user: Your last reply was left out, because it called a tool."
        " In your next reply, answer in text and call no tool.]"
    )
