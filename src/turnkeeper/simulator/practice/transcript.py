"""A request as the practice model sees it: the turns, the tools on offer, and what the caller demands.

Nothing in a request is trusted to have the right shape; what can't be read is left out. A note of the application, in
brackets and named as one, is no part of what the user says: where it says which tool to call next, that is obeyed as a
`tool_choice` would be.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ("Call", "Choice", "Offer", "Result", "Transcript", "Turn", "read_request")


_OUTSIDE = re.compile(r"<(untrusted-[0-9a-f]+) [^\n]*>\n[^\n]*\n(.*)\n</\1>", re.DOTALL)
"""A result that holds text from outside, between the marks that say so."""
_NOTE = re.compile(r"\[From the application[^\]]{0,2000}\]")
_NAMED = re.compile(r"call the tool `([A-Za-z0-9_-]{1,128})`")
_ANY, _NONE = "call at least one of your tools", "call no tool"


@dataclass(frozen=True, slots=True)
class Offer:
    """One tool that the request offers: name, description, and the properties of its input."""

    name: str
    description: str = ""
    schema: Mapping[str, Any] = field(default_factory=dict)

    @property
    def properties(self) -> Mapping[str, Any]:
        """The input's properties, name to schema."""
        found = self.schema.get("properties")
        return {key: value for key, value in found.items() if isinstance(key, str)} if isinstance(found, dict) else {}

    @property
    def required(self) -> tuple[str, ...]:
        """Names of the properties that must be given."""
        found = self.schema.get("required")
        return tuple(name for name in found if isinstance(name, str)) if isinstance(found, list) else ()


@dataclass(frozen=True, slots=True)
class Call:
    """One call to make, or one that was made."""

    name: str
    input: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Result:
    """What came back for a call: its text blocks joined, and whether it was marked as an error."""

    call: Call
    text: str
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class Turn:
    """A user's text and the results that followed it; `unseen` when the message held only what can't be read."""

    text: str = ""
    results: tuple[Result, ...] = ()
    unseen: bool = False


@dataclass(frozen=True, slots=True)
class Choice:
    """The request's `tool_choice`: `auto`, `any`, `none` or `tool` (with `name`), and whether calls may be parallel."""

    kind: str = "auto"
    name: str = ""
    parallel: bool = True


@dataclass(frozen=True, slots=True)
class Transcript:
    """The whole request, read. `said` holds the assistant's texts, oldest first; `schema` a demanded JSON format."""

    system: str
    offers: Mapping[str, Offer]
    choice: Choice
    turns: tuple[Turn, ...]
    said: tuple[str, ...]
    schema: Mapping[str, Any] | None = None


def read_request(request: Mapping[str, Any]) -> Transcript:
    """Read a request body of the Messages API."""
    messages = [message for message in _items(request.get("messages")) if isinstance(message, dict)]
    system = [_text(request.get("system"))]
    said: list[str] = []
    calls: dict[str, Call] = {}
    turns: list[Turn] = []
    notes: list[str] = []
    for message in messages:
        role, content = message.get("role"), message.get("content")
        if role == "assistant":
            said.append(_text(content))
            calls.update(_calls(content))
            notes = []
            continue
        notes += _NOTE.findall(_text(content))
        if role == "system":
            system.append(_NOTE.sub("", _text(content)))
        elif role == "user":
            _hear(content, calls, turns)
    return Transcript(
        system="\n".join(system),
        offers=_offers(request.get("tools")),
        choice=_told(notes, _choice(request.get("tool_choice"))),
        turns=tuple(turns),
        said=tuple(said),
        schema=_format(request.get("output_config")),
    )


def _hear(content: object, calls: Mapping[str, Call], turns: list[Turn]) -> None:
    """Results belong to the turn that is going on; text begins the next one."""
    blocks = [block for block in _items(content) if isinstance(block, dict)]
    results = [_result(block, calls) for block in blocks if block.get("type") == "tool_result"]
    if results:
        going_on = turns.pop() if turns else Turn()
        turns.append(Turn(going_on.text, (*going_on.results, *results), going_on.unseen))
    text = _NOTE.sub("", _text(content)).strip("\n")
    if text.strip():
        turns.append(Turn(text))
    elif not results:
        turns.append(Turn(unseen=any(block.get("type") != "text" for block in blocks)))


def _result(block: Mapping[str, Any], calls: Mapping[str, Call]) -> Result:
    call = calls.get(str(block.get("tool_use_id")), Call("", {}))
    text = _text(block.get("content"))
    outside = _OUTSIDE.fullmatch(text)
    return Result(call, outside[2] if outside else text, block.get("is_error") is True)


def _calls(content: object) -> dict[str, Call]:
    found = {}
    for block in _items(content):
        if isinstance(block, dict) and block.get("type") == "tool_use" and isinstance(block.get("name"), str):
            given = block.get("input")
            found[str(block.get("id"))] = Call(block["name"], given if isinstance(given, dict) else {})
    return found


def _offers(tools: object) -> dict[str, Offer]:
    """Tools that a caller runs; server tools and toolsets are run elsewhere and can't be asked for here."""
    found = {}
    for tool in _items(tools):
        if (
            isinstance(tool, dict)
            and isinstance(tool.get("name"), str)
            and tool.get("type", "custom") in (None, "custom")
        ):
            schema, description = tool.get("input_schema"), tool.get("description")
            found[tool["name"]] = Offer(
                tool["name"],
                description if isinstance(description, str) else "",
                schema if isinstance(schema, dict) else {},
            )
    return found


def _choice(choice: object) -> Choice:
    if not isinstance(choice, dict):
        return Choice()
    kind, name = choice.get("type"), choice.get("name")
    parallel = choice.get("disable_parallel_tool_use") is not True
    if kind == "tool" and isinstance(name, str):
        return Choice("tool", name, parallel)
    return Choice(kind if kind in ("any", "none") else "auto", "", parallel)


def _told(notes: list[str], choice: Choice) -> Choice:
    """The choice, or what the last note since the last reply makes of it."""
    if not notes or choice.kind != "auto":
        return choice
    if named := _NAMED.search(notes[-1]):
        return Choice("tool", named[1], choice.parallel)
    return Choice("any" if _ANY in notes[-1] else "none" if _NONE in notes[-1] else "auto", "", choice.parallel)


def _format(config: object) -> Mapping[str, Any] | None:
    wanted = config.get("format") if isinstance(config, dict) else None
    if not isinstance(wanted, dict) or wanted.get("type") != "json_schema":
        return None
    schema = wanted.get("schema")
    return schema if isinstance(schema, dict) else {}


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    texts = [block.get("text") for block in _items(content) if isinstance(block, dict)]
    return "\n".join(text for text in texts if isinstance(text, str))


def _items(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
