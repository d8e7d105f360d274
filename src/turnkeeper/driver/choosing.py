"""The tool choice of a turn at work: said in words where that is needed, and what it says when it was not kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from turnkeeper.core.events import ChoiceGuided, ReplyReceived, TurnWarned
from turnkeeper.core.tool_choice import BROKEN, Route, choice_for_request, guidance, is_forced, route_for, said
from turnkeeper.driver.recorder import Recorder
from turnkeeper.errors import ToolChoiceUnmet
from turnkeeper.models import Model
from turnkeeper.updates import Warned
from turnkeeper.wire.blocks import CLIENT_CALL, is_server_call, text_of
from turnkeeper.wire.json import decode, encode

__all__ = ("Choosing", "choice_unmet", "choosing", "guide", "warn", "warn_if_gone")

_SHOWN = 200
"""Characters of a reply's text that a message repeats."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choosing:
    """The choice of one request: what is sent of it, whether the reply is held against it, and the tools on offer."""

    sent: dict[str, Any] | None
    in_force: bool
    native: bool
    names: Sequence[str]


def choosing(recorder: Recorder, model: Model, thinking: str | None, names: Sequence[str]) -> Choosing:
    """How the turn's choice stands for its next request. `names` are the tools that whoever is talking may use.

    A choice of a tool that they may not use any more doesn't hold: nothing could keep it.
    """
    turn = recorder.state.turn
    assert turn is not None
    route = route_for(turn.choice, support=model.forced_tool_choice, thinking=thinking)
    native = route is Route.NATIVE and not turn.choice_refused
    wanted = (turn.choice or {}).get("name")
    in_force = turn.choice_in_force and (
        not is_forced(turn.choice) or (bool(names) if wanted is None else wanted in names)
    )
    sent = choice_for_request(turn.choice, has_tools=bool(names), in_force=in_force, native=native)
    return Choosing(sent=sent, in_force=in_force, native=native, names=names)


def guide(recorder: Recorder, model: Model, choice: Choosing, *, at: float) -> None:
    """Stage the choice in words, where the next request needs it: it is not sent natively, or a reply has broken it.

    Nothing can follow a paused reply, which the model is about to continue: what was said before it still holds.
    """
    turn = recorder.state.turn
    if turn is None or turn.choice is None or not choice.in_force or not recorder.history.waits_for_model:
        return
    if turn.unmet <= (turn.guided or 0) and (choice.native or turn.guided is not None):
        return
    text = guidance(turn.choice, reminder=turn.unmet > (turn.guided or 0))
    role = "system" if model.system_role or recorder.history.last_role == "system" else "user"
    content = encode([{"type": "text", "text": text}])
    recorder.stage(ChoiceGuided(at=at, role=role, content=content, unmet=turn.unmet))
    if turn.guided is None and not choice.native:
        how = "did not take" if turn.choice_refused else "takes no forced choice, such as"
        warn(
            recorder,
            "tool_choice_guided",
            f"{model.id} {how} {said(turn.choice)}: it was asked for in words, and each reply is checked",
            at=at,
        )


def warn_if_gone(recorder: Recorder, choice: Choosing, *, at: float) -> None:
    """Stage a warning, once in a turn, where a choice can't hold: its tool may not be used by whoever is talking."""
    turn = recorder.state.turn
    if turn is None or turn.choice is None or choice.in_force or not turn.choice_in_force:
        return
    code = "tool_choice_unavailable"
    if not any(isinstance(event, TurnWarned) and event.code == code for event in recorder.turn_events):
        text = f"{said(turn.choice)} does not hold: whoever is talking may use no such tool"
        warn(recorder, code, text, at=at)


def warn(recorder: Recorder, code: str, message: str, *, at: float) -> None:
    """Stage a warning, for the journal and for the caller."""
    recorder.stage(TurnWarned(at=at, code=code, message=message), Warned(code=code, message=message))


def choice_unmet(recorder: Recorder) -> ToolChoiceUnmet | None:
    """The error of a turn that ended because its choice was not kept; None of any other turn."""
    turn = recorder.state.turn
    if turn is None or turn.reason != BROKEN or turn.choice is None:
        return None
    replies = [event for event in recorder.turn_events if isinstance(event, ReplyReceived)]
    came = [decode(raw) for raw in replies[-1].blocks] if replies else []
    names = [str(one.get("name")) for one in came if one.get("type") == CLIENT_CALL or is_server_call(one)]
    text = text_of(came).strip()
    shown = text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
    what = f"called {', '.join(names)}" if names else f"was text: {shown!r}" if text else "held neither call nor text"
    times = "1 reply" if turn.unmet == 1 else f"{turn.unmet} replies"
    return ToolChoiceUnmet(
        f"{said(turn.choice)} was not kept in {times}; the last one {what}",
        tool_choice=dict(turn.choice),
        came=came,
        replies=turn.unmet,
    )
