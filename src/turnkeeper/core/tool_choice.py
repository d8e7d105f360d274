"""`tool_choice` as a promise that is kept on every model: how it is sent, how a reply is held against it, what is said.

Laws
1. A reply that breaks the choice is left out, and no call in it runs.
2. `any` and a named tool hold until the first reply of the turn that keeps to them, so that they can't loop; `none`
   holds for the whole turn.
3. Such a reply is asked for again a bounded number of times; then the turn fails, and never passes in silence.
4. Where the choice can't be sent as `tool_choice`, it is said in words, once; each reply left out adds a reminder.

Facts: `types/tool_choice_*_param.py` of the official SDK; platform docs, agents-and-tools/tool-use/define-tools. Which
models take a forced choice: models/models.toml. Endpoints that pass over it: docs/tool-choice.md has the reports.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from turnkeeper.core.replies import Action, Verdict
from turnkeeper.errors import ConfigurationError
from turnkeeper.types import ToolChoice, TurnStatus
from turnkeeper.wire.blocks import CLIENT_CALL, is_server_call

__all__ = (
    "ASKS",
    "AUTO",
    "BROKEN",
    "CHOICE_TABLE",
    "MET",
    "ROUTE_TABLE",
    "UNMET",
    "Came",
    "Route",
    "came",
    "check_tool_choice",
    "choice_for_request",
    "guidance",
    "held_against",
    "is_forced",
    "parse_tool_choice",
    "route_for",
    "said",
    "was_refused",
)

ASKS = 2
"""How often a reply that breaks the choice is asked for again in a turn, unless a setting says otherwise."""
AUTO: dict[str, Any] = {"type": "auto"}
MET, UNMET = "met", "unmet"
"""What a stored reply says of the choice."""

BROKEN = "tool_choice_unmet"
"""The reason of a reply that broke the choice, and of a turn that ends because of it."""

_WORDS = ("auto", "any", "none")


class Route(enum.StrEnum):
    """How a choice reaches the model."""

    FREE = "free"
    """There is nothing to keep."""
    NATIVE = "native"
    """It is sent as `tool_choice`."""
    GUIDED = "guided"
    """It is said in words; the request goes out without it."""


class Came(enum.StrEnum):
    """What a reply holds, seen from the choice."""

    NO_CALL = "no_call"
    CALL = "call"
    """Calls of the named tool only; where none is named, of a tool that is offered."""
    OTHER_CALL = "other_call"
    """A call of another tool than the named one; where none is named, only of tools that are not offered."""


_R, _C = Route, Came
ROUTE_TABLE: dict[tuple[str, str, bool], Route] = {
    ("auto", "yes", False): _R.FREE,
    ("auto", "yes", True): _R.FREE,
    ("auto", "unknown", False): _R.FREE,
    ("auto", "unknown", True): _R.FREE,
    ("auto", "not_with_thinking", False): _R.FREE,
    ("auto", "not_with_thinking", True): _R.FREE,
    ("auto", "no", False): _R.FREE,
    ("auto", "no", True): _R.FREE,
    ("none", "yes", False): _R.NATIVE,
    ("none", "yes", True): _R.NATIVE,
    ("none", "unknown", False): _R.NATIVE,
    ("none", "unknown", True): _R.NATIVE,
    ("none", "not_with_thinking", False): _R.NATIVE,
    ("none", "not_with_thinking", True): _R.NATIVE,
    ("none", "no", False): _R.NATIVE,
    ("none", "no", True): _R.NATIVE,
    ("forced", "yes", False): _R.NATIVE,
    ("forced", "yes", True): _R.GUIDED,
    ("forced", "unknown", False): _R.NATIVE,
    ("forced", "unknown", True): _R.GUIDED,
    ("forced", "not_with_thinking", False): _R.NATIVE,
    ("forced", "not_with_thinking", True): _R.GUIDED,
    ("forced", "no", False): _R.GUIDED,
    ("forced", "no", True): _R.GUIDED,
}
"""(choice, what the catalogue says of forced choices, manual thinking) → how it goes out. `forced`: any or a tool.

Manual thinking (`thinking.type: enabled`) and a forced choice answer 400 on every model; adaptive thinking does not, by
the pages. A model that refuses it nevertheless is asked again in words (`was_refused`).
"""

CHOICE_TABLE: dict[tuple[str, Came], bool] = {
    ("auto", _C.NO_CALL): True,
    ("auto", _C.CALL): True,
    ("auto", _C.OTHER_CALL): True,
    ("any", _C.NO_CALL): False,
    ("any", _C.CALL): True,
    ("any", _C.OTHER_CALL): False,
    ("tool", _C.NO_CALL): False,
    ("tool", _C.CALL): True,
    ("tool", _C.OTHER_CALL): False,
    ("none", _C.NO_CALL): True,
    ("none", _C.CALL): False,
    ("none", _C.OTHER_CALL): False,
}
"""(choice, what came) → whether the reply keeps to the choice."""


def parse_tool_choice(choice: ToolChoice, *, disable_parallel: bool = False) -> dict[str, Any]:
    """The API's object for `auto`, `any`, `none`, a tool's name, or the API's own object."""
    if isinstance(choice, str):
        given: dict[str, Any] = {"type": choice} if choice in _WORDS else {"type": "tool", "name": choice}
    elif isinstance(choice, dict) and choice.get("type") in (*_WORDS, "tool"):
        given = dict(choice)
    else:
        raise ConfigurationError(
            f"tool_choice must be 'auto', 'any', 'none', a tool's name or the API's object, not {choice!r}"
        )
    if given["type"] == "tool" and not given.get("name"):
        raise ConfigurationError("tool_choice of type 'tool' needs the tool's name")
    if disable_parallel and given["type"] != "none":
        given["disable_parallel_tool_use"] = True
    return given


def is_forced(choice: Mapping[str, Any] | None) -> bool:
    """It demands a call: `any`, or a tool by name."""
    return choice is not None and choice["type"] in ("any", "tool")


def said(choice: Mapping[str, Any]) -> str:
    """The choice as a caller writes it, for messages: `tool_choice 'any'`."""
    return f"tool_choice {choice.get('name', '') if choice['type'] == 'tool' else choice['type']!r}"


def check_tool_choice(choice: Mapping[str, Any], *, names: Collection[str], model: str, route: Route | None) -> None:
    """Refuse what can't be kept: a forced choice without tools, or of a tool that isn't there.

    `route` is given where the caller wants the choice sent as it is or not at all: it is refused then if it would have
    to be said in words.
    """
    if not is_forced(choice):
        return
    if not names:
        raise ConfigurationError(f"{said(choice)} needs tools, and none are given")
    if choice["type"] == "tool" and choice["name"] not in names:
        raise ConfigurationError(f"{said(choice)} is not among the tools: {', '.join(sorted(names))}")
    if route is Route.GUIDED:
        raise ConfigurationError(
            f"{said(choice)}: the model {model} refuses a forced choice (400), always or while thinking is on. Leave"
            " guide_tool_choice on, so that it is asked for in words and checked, or choose a model that takes it"
            " (`turnkeeper models`)."
        )


def route_for(choice: Mapping[str, Any] | None, *, support: str, thinking: str | None) -> Route:
    """Look the route up: `support` is the catalogue's `forced_tool_choice`, `thinking` the request's own type."""
    kind = "auto" if choice is None else "forced" if is_forced(choice) else str(choice["type"])
    return ROUTE_TABLE[kind, support, thinking == "enabled"]


def choice_for_request(
    choice: Mapping[str, Any] | None, *, has_tools: bool, in_force: bool, native: bool
) -> dict[str, Any] | None:
    """What this request carries as `tool_choice`, None for nothing; `auto` is the API's default and is not sent."""
    if choice is None or not has_tools:
        return None
    sent = dict(choice)
    if is_forced(choice) and not (in_force and native):
        sent = AUTO | ({"disable_parallel_tool_use": True} if choice.get("disable_parallel_tool_use") else {})
    elif choice["type"] == "none" and not native:
        return None
    return None if sent == AUTO else sent


def was_refused(choice: Mapping[str, Any] | None, *, support: str, status: int | None, message: str) -> bool:
    """Whether a request failed for the sake of the choice it carried, so that it is worth asking in words.

    An endpoint that can't take a choice answers 400, 422 or 5xx (LiteLLM) and names it; where the catalogue doesn't
    know the model, any 400 or 422 may be about it.
    """
    if choice is None or choice["type"] == "auto" or status is None or status < 400:
        return False
    named = "tool_choice" in message or "tool choice" in message.lower()
    about_it = status in (400, 422) and (named or (support == "unknown" and is_forced(choice)))
    return about_it or (status >= 500 and named)


def came(choice: Mapping[str, Any], blocks: Iterable[Mapping[str, Any]], *, names: Collection[str]) -> Came:
    """What a reply holds. `names` are the tools on offer; a call of the API's own tools counts as a call too."""
    wanted = {choice["name"]} if choice["type"] == "tool" else set(names)
    found = Came.NO_CALL
    for block in blocks:
        mine = block.get("type") == CLIENT_CALL
        if not mine and not is_server_call(block):
            continue
        fits = block.get("name") in wanted or (choice["type"] != "tool" and (not mine or "toolset_name" in block))
        if fits:
            found = found if found is Came.OTHER_CALL and choice["type"] == "tool" else Came.CALL
        elif mine and (choice["type"] == "tool" or found is Came.NO_CALL):
            found = Came.OTHER_CALL
    return found


def held_against(
    verdict: Verdict,
    choice: Mapping[str, Any] | None,
    blocks: Iterable[Mapping[str, Any]],
    *,
    names: Collection[str],
    in_force: bool,
    unmet: int,
    asks: int,
) -> tuple[Verdict, str | None]:
    """The reply table's verdict, held against the choice; and MET, UNMET or None, where the choice has no say.

    `unmet` counts the turn's replies that broke the choice before, `asks` how often it may be asked again. A reply that
    ends the turn as refused, truncated or failed, or that is asked for again anyway, has its end or its next try.
    """
    if choice is None or choice["type"] == "auto" or not in_force:
        return verdict, None
    kept = CHOICE_TABLE[choice["type"], came(choice, blocks, names=names)]
    sent_on = verdict.action is Action.RESEND
    if sent_on and (kept or choice["type"] != "none"):
        return verdict, MET if kept else None
    if not sent_on and verdict.action is not Action.RUN_CALLS and verdict.status is not TurnStatus.COMPLETED:
        return verdict, None
    if kept:
        return verdict, MET
    if unmet < asks:
        return Verdict(action=Action.REMIND, kept=False, reason=BROKEN), UNMET
    return Verdict(action=Action.DISCARD, kept=False, status=TurnStatus.FAILED, reason=BROKEN), UNMET


def guidance(choice: Mapping[str, Any], *, reminder: bool) -> str:
    """The choice in words, for the model. It holds for one reply, so that it may stay in the history."""
    kind = choice["type"]
    if kind == "tool":
        asked = f"In your next reply, call the tool `{choice['name']}` and no other tool."
        broken = f"it did not call `{choice['name']}`, or called another tool as well"
    elif kind == "any":
        asked, broken = "In your next reply, call at least one of your tools.", "it called none of your tools"
    else:
        asked, broken = "In your next reply, answer in text and call no tool.", "it called a tool"
    after = "" if kind == "none" else " Once you have the result, go on as you see fit."
    missed = f"Your last reply was left out, because {broken}. " if reminder else ""
    return f"[From the application, not from the user: {missed}{asked}{after}]"
