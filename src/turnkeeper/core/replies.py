"""The reply table: what a reply means for the turn, by its stop reason and by what it holds.

Laws
1. A call in a reply that was cut (`max_tokens`, the window, a refusal, an unknown stop), or that nothing says is whole
   (no stop reason), is never run.
2. Whatever is kept can be sent back; what can't be (empty, cut off, refused) is journaled and left out of the history.
3. Every way of asking again is bounded.

Sources: platform docs, build-with-claude/handling-stop-reasons; `types/stop_reason.py` of the official SDK; odd cases
as users reported them.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from turnkeeper.types import TurnStatus
from turnkeeper.wire.blocks import CLIENT_CALL, is_blank_text

__all__ = (
    "ASK_AGAIN_LIMIT",
    "ENLARGE_LIMIT",
    "MOST_CALLS",
    "REPLY_TABLE",
    "RESEND_LIMIT",
    "Action",
    "Row",
    "Shape",
    "Verdict",
    "judge",
)

ASK_AGAIN_LIMIT = 1
"""How often the same request goes out again in a turn because its reply held nothing to act on."""
ENLARGE_LIMIT = 2
"""How often a cut reply is asked for again with more room."""
ENLARGE_FACTOR = 4
MOST_CALLS = 1_000
"""Calls that one reply may hold; a reply with more is left out, and its turn fails."""
RESEND_LIMIT = 10
"""How often a paused turn is sent on in a row."""


class Shape(enum.StrEnum):
    """What a reply holds: client calls; no calls but something to keep; nothing but blanks or thinking."""

    CALLS = "calls"
    CONTENT = "content"
    EMPTY = "empty"

    @classmethod
    def of(cls, blocks: Iterable[Mapping[str, Any]]) -> Shape:
        """Read the shape off the blocks."""
        found = cls.EMPTY
        for block in blocks:
            kind = block.get("type")
            if kind == CLIENT_CALL:
                return cls.CALLS
            if kind not in ("thinking", "redacted_thinking") and not is_blank_text(block):
                found = cls.CONTENT
        return found


class Action(enum.StrEnum):
    """What a reply leads to."""

    RUN_CALLS = "run_calls"
    """Keep it, run its calls, send all results."""
    END = "end"
    """Keep it, the turn ends with the row's status."""
    RESEND = "resend"
    """Keep it and send the conversation on as it is."""
    ENLARGE = "enlarge"
    """Leave it out and ask again with more room."""
    ASK_AGAIN = "ask_again"
    """Leave it out and send the same request again."""
    REMIND = "remind"
    """Leave it out and ask again, with a reminder of the tool choice that it broke (`core/tool_choice.py`)."""
    DISCARD = "discard"
    """Leave it out, the turn ends with the row's status."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row. `action` first; where that is used up (or is an end), the turn ends with `status` and `reason`,
    and the reply stays in the history only if `kept_at_end`.
    """

    action: Action
    status: TurnStatus
    reason: str = ""
    kept_at_end: bool = False
    why: str = ""


_done, _failed = TurnStatus.COMPLETED, TurnStatus.FAILED
_run = Row(Action.RUN_CALLS, _done, why="calls are run and answered, whatever the stop reason says")
_end = Row(Action.END, _done, kept_at_end=True, why="the model has finished")
_empty = Row(Action.ASK_AGAIN, _done, "empty_reply", why="an empty assistant message may not be sent back")
_cut = Row(Action.ENLARGE, TurnStatus.TRUNCATED, "max_tokens", why="cut off: its last block may be incomplete")
_refused = Row(Action.DISCARD, TurnStatus.REFUSED, "refusal", why="partial content of a refusal is to be discarded")
_window = Row(
    Action.DISCARD,
    TurnStatus.TRUNCATED,
    "model_context_window_exceeded",
    why="more room does not help: the window is full",
)
_pause = Row(
    Action.RESEND,
    TurnStatus.LIMIT_REACHED,
    "pause_turn",
    kept_at_end=True,
    why="the API's own tools need another round",
)
_unknown = "a stop this version does not know"

OTHER = "(any other)"
NONE = "(none)"

REPLY_TABLE: dict[tuple[str, Shape], Row] = {
    ("end_turn", Shape.CALLS): _run,
    ("end_turn", Shape.CONTENT): _end,
    ("end_turn", Shape.EMPTY): _empty,
    ("tool_use", Shape.CALLS): _run,
    ("tool_use", Shape.CONTENT): Row(
        Action.ASK_AGAIN, _failed, "tool_use_without_calls", kept_at_end=True, why="it names a call and holds none"
    ),
    ("tool_use", Shape.EMPTY): Row(
        Action.ASK_AGAIN, _failed, "tool_use_without_calls", why="it names a call and holds none"
    ),
    ("stop_sequence", Shape.CALLS): _run,
    ("stop_sequence", Shape.CONTENT): _end,
    ("stop_sequence", Shape.EMPTY): Row(Action.DISCARD, _done, "empty_reply", why="the stop sequence came first"),
    ("max_tokens", Shape.CALLS): _cut,
    ("max_tokens", Shape.CONTENT): _cut,
    ("max_tokens", Shape.EMPTY): _cut,
    ("model_context_window_exceeded", Shape.CALLS): _window,
    ("model_context_window_exceeded", Shape.CONTENT): _window,
    ("model_context_window_exceeded", Shape.EMPTY): _window,
    ("pause_turn", Shape.CALLS): _run,
    ("pause_turn", Shape.CONTENT): _pause,
    ("pause_turn", Shape.EMPTY): _empty,
    ("compaction", Shape.CALLS): _run,
    ("compaction", Shape.CONTENT): _pause,
    ("compaction", Shape.EMPTY): _empty,
    ("refusal", Shape.CALLS): _refused,
    ("refusal", Shape.CONTENT): _refused,
    ("refusal", Shape.EMPTY): _refused,
    (NONE, Shape.CALLS): Row(
        Action.ASK_AGAIN, _failed, "no_stop_reason", why="nothing says that the reply is whole: its calls may be cut"
    ),
    (NONE, Shape.CONTENT): _end,
    (NONE, Shape.EMPTY): _empty,
    (OTHER, Shape.CALLS): Row(Action.DISCARD, _failed, "unknown_stop_reason", why=f"{_unknown} may have cut the calls"),
    (OTHER, Shape.CONTENT): Row(Action.END, _done, "unknown_stop_reason", kept_at_end=True, why=_unknown),
    (OTHER, Shape.EMPTY): Row(Action.DISCARD, _failed, "unknown_stop_reason", why=_unknown),
}

_KNOWN = frozenset(stop for stop, _ in REPLY_TABLE)
_BOUNDED = {Action.ASK_AGAIN: ASK_AGAIN_LIMIT, Action.ENLARGE: ENLARGE_LIMIT, Action.RESEND: RESEND_LIMIT}


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What happens now. `kept`: the reply joins the history. `max_tokens`: the room of the next request, if changed."""

    action: Action
    kept: bool
    status: TurnStatus | None = None
    reason: str = ""
    max_tokens: int | None = None


def judge(
    stop_reason: str | None,
    shape: Shape,
    *,
    used: Mapping[Action, int],
    max_tokens: int,
    most_tokens: int | None,
    calls: int = 0,
) -> Verdict:
    """Look the reply up and settle its bounds.

    `used` counts how often each bounded action has been taken (asking again and enlarging per turn, sending on in
    a row);
    `max_tokens` is what the request allowed, `most_tokens` what the model allows (None: not known). `calls` is how many
    calls the reply holds.
    """
    stop = NONE if stop_reason is None else stop_reason if stop_reason in _KNOWN else OTHER
    row = REPLY_TABLE[stop, shape]
    action, room = row.action, None
    if used.get(action, 0) >= _BOUNDED.get(action, 1):
        action = Action.END
    if action is Action.ENLARGE:
        room = min(max_tokens * ENLARGE_FACTOR, most_tokens or max_tokens * ENLARGE_FACTOR)
        if room <= max_tokens:
            action = Action.END
    if action is Action.RUN_CALLS and calls > MOST_CALLS:
        return Verdict(action=Action.DISCARD, kept=False, status=_failed, reason="too_many_calls")
    if action is Action.RUN_CALLS or action is Action.RESEND:
        return Verdict(action=action, kept=True, reason=row.reason)
    if action is Action.ASK_AGAIN or action is Action.ENLARGE:
        return Verdict(action=action, kept=False, reason=row.reason, max_tokens=room)
    kept = row.kept_at_end
    return Verdict(action=Action.END if kept else Action.DISCARD, kept=kept, status=row.status, reason=row.reason)
