"""The reply table: every stop reason with every shape."""

from __future__ import annotations

import pytest

from turnkeeper.core.replies import (
    ASK_AGAIN_LIMIT,
    ENLARGE_LIMIT,
    REPLY_TABLE,
    RESEND_LIMIT,
    Action,
    Shape,
    Verdict,
    judge,
)
from turnkeeper.types import TurnStatus

TEXT = {"type": "text", "text": "Привет"}
CALL = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
BLANK = {"type": "text", "text": "\n\n"}
THINKING = {"type": "thinking", "thinking": "", "signature": "s"}


def verdict(
    stop: str | None, shape: Shape, *, max_tokens: int = 1000, most: int | None = 64_000, **used: int
) -> Verdict:
    return judge(
        stop, shape, used={Action(name): n for name, n in used.items()}, max_tokens=max_tokens, most_tokens=most
    )


@pytest.mark.parametrize(
    ("blocks", "shape"),
    [
        ([], Shape.EMPTY),
        ([BLANK], Shape.EMPTY),
        ([THINKING], Shape.EMPTY),
        ([THINKING, BLANK, {"type": "redacted_thinking", "data": "x"}], Shape.EMPTY),
        ([THINKING, TEXT], Shape.CONTENT),
        ([{"type": "server_tool_use", "id": "srv", "name": "web_search", "input": {}}], Shape.CONTENT),
        ([{"type": "something_new"}], Shape.CONTENT),
        ([TEXT, CALL], Shape.CALLS),
        ([BLANK, CALL], Shape.CALLS),
    ],
)
def test_the_shape_is_read_off_the_blocks(blocks: list[dict[str, object]], shape: Shape) -> None:
    assert Shape.of(blocks) is shape


def test_every_stop_reason_has_a_row_for_every_shape() -> None:
    stops = {stop for stop, _ in REPLY_TABLE}
    assert {(stop, shape) for stop in stops for shape in Shape} == set(REPLY_TABLE)
    assert stops == {
        "end_turn",
        "tool_use",
        "stop_sequence",
        "max_tokens",
        "model_context_window_exceeded",
        "pause_turn",
        "compaction",
        "refusal",
        "(none)",
        "(any other)",
    }
    assert all(row.why for row in REPLY_TABLE.values())


def test_calls_that_nothing_says_are_whole_are_asked_for_once_more_and_never_run() -> None:
    assert verdict(None, Shape.CALLS) == Verdict(action=Action.ASK_AGAIN, kept=False, reason="no_stop_reason")


@pytest.mark.parametrize("stop", ["end_turn", "tool_use", "stop_sequence", "pause_turn", "compaction"])
def test_complete_calls_are_run_whatever_the_stop_reason_says(stop: str) -> None:
    assert verdict(stop, Shape.CALLS) == Verdict(action=Action.RUN_CALLS, kept=True)


@pytest.mark.parametrize("stop", ["max_tokens", "model_context_window_exceeded", "refusal", "brand_new_stop"])
def test_calls_of_a_reply_that_was_cut_are_never_run(stop: str) -> None:
    for used in range(ENLARGE_LIMIT + 2):
        found = verdict(stop, Shape.CALLS, enlarge=used)
        assert found.action is not Action.RUN_CALLS
        assert not found.kept


def test_a_truncated_reply_is_asked_for_with_more_room_up_to_the_models_maximum_a_bounded_number_of_times() -> None:
    assert verdict("max_tokens", Shape.CONTENT) == Verdict(
        action=Action.ENLARGE, kept=False, reason="max_tokens", max_tokens=4000
    )
    assert verdict("max_tokens", Shape.EMPTY, max_tokens=60_000).max_tokens == 64_000
    end = Verdict(action=Action.DISCARD, kept=False, status=TurnStatus.TRUNCATED, reason="max_tokens")
    assert verdict("max_tokens", Shape.CONTENT, max_tokens=64_000) == end
    assert verdict("max_tokens", Shape.CONTENT, enlarge=ENLARGE_LIMIT) == end
    assert verdict("max_tokens", Shape.CONTENT, most=None).max_tokens == 4000


def test_a_full_window_ends_the_turn_truncated_at_once() -> None:
    assert verdict("model_context_window_exceeded", Shape.CONTENT) == Verdict(
        action=Action.DISCARD, kept=False, status=TurnStatus.TRUNCATED, reason="model_context_window_exceeded"
    )


def test_a_refusal_is_discarded_and_ends_the_turn() -> None:
    for shape in Shape:
        assert verdict("refusal", shape) == Verdict(
            action=Action.DISCARD, kept=False, status=TurnStatus.REFUSED, reason="refusal"
        )


def test_a_paused_turn_is_kept_and_sent_on_until_its_bound() -> None:
    assert verdict("pause_turn", Shape.CONTENT).action is Action.RESEND
    assert verdict("pause_turn", Shape.CONTENT, resend=RESEND_LIMIT) == Verdict(
        action=Action.END, kept=True, status=TurnStatus.LIMIT_REACHED, reason="pause_turn"
    )


def test_tool_use_without_a_call_is_asked_again_once_and_then_fails_with_its_text_kept() -> None:
    assert verdict("tool_use", Shape.CONTENT).action is Action.ASK_AGAIN
    assert verdict("tool_use", Shape.CONTENT, ask_again=ASK_AGAIN_LIMIT) == Verdict(
        action=Action.END, kept=True, status=TurnStatus.FAILED, reason="tool_use_without_calls"
    )
    assert verdict("tool_use", Shape.EMPTY, ask_again=ASK_AGAIN_LIMIT) == Verdict(
        action=Action.DISCARD, kept=False, status=TurnStatus.FAILED, reason="tool_use_without_calls"
    )


@pytest.mark.parametrize("stop", ["end_turn", None])
def test_an_empty_reply_is_asked_again_once_and_never_kept(stop: str | None) -> None:
    assert verdict(stop, Shape.EMPTY).action is Action.ASK_AGAIN
    assert verdict(stop, Shape.EMPTY, ask_again=ASK_AGAIN_LIMIT) == Verdict(
        action=Action.DISCARD, kept=False, status=TurnStatus.COMPLETED, reason="empty_reply"
    )


@pytest.mark.parametrize("stop", ["end_turn", "stop_sequence", None])
def test_text_that_ends_is_the_answer(stop: str | None) -> None:
    assert verdict(stop, Shape.CONTENT) == Verdict(action=Action.END, kept=True, status=TurnStatus.COMPLETED)


def test_an_unknown_stop_with_text_completes_and_says_so() -> None:
    assert verdict("brand_new_stop", Shape.CONTENT) == Verdict(
        action=Action.END, kept=True, status=TurnStatus.COMPLETED, reason="unknown_stop_reason"
    )
