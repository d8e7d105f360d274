"""Recorded conversations run again, offline: the same messages, replies and results, through today's agent.

Each turn is run from what the journal holds before it. The model is stood in for by the recorded replies, a tool by its
recorded results, people by their recorded decisions. What the turn then writes down is compared with what was written
down: a prompt, a tool or a Turnkeeper that has changed shows where it first makes a difference.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, cast

from turnkeeper.core.events import (
    ApprovalDecided,
    ApprovalRequested,
    CallFinished,
    CallResolved,
    CallStarted,
    Event,
    MessagesImported,
    ReplyReceived,
    RequestFailed,
    RequestStarted,
    TurnEnded,
    TurnResumed,
    TurnStarted,
)
from turnkeeper.driver.agent import Agent
from turnkeeper.driver.keeper import Keeper
from turnkeeper.errors import APIError, IllegalEventError, InputError, TurnkeeperError
from turnkeeper.journal import MemoryJournal
from turnkeeper.journal.carrying import whole_export
from turnkeeper.testing.recorded import RUN_OUT, RecordedAPI
from turnkeeper.tools import MOST_KEPT, READ_RESULT, Tool
from turnkeeper.types import Effect, Principal
from turnkeeper.wire.json import decode

__all__ = ("Divergence", "Replay", "assert_replays", "recorded_agent", "replay")

_PASSING = frozenset(
    {"at", "first_at", "seconds", "error_id", "trace", "cost", "reserved", "request_id", "partial", "usage", "delay"}
    | {"invalid_inputs", "setup", "policy", "policy_version", "expires_at"}
)
"""Members that say when, how long and for how much, and not what."""
_CUT = re.compile(r"\n\[characters 0 to (\d+) of \d+\.")
"""What stands behind the head of a large result."""
_FAILURE = frozenset({"kind", "status", "message"})
"""What a failure was makes no difference to the turn, only whether it was tried again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Divergence:
    """Where a replay first differs: in that turn (from 1), at that event of the record. `diff` is for people."""

    turn: int
    seq: int
    what: str
    diff: str

    def __str__(self) -> str:
        return f"turn {self.turn}, event {self.seq}: {self.what}\n{self.diff}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """What a replay came to: the turns that were run again, and the first divergence, None if there is none."""

    conversation_id: str
    turns: int
    divergence: Divergence | None = None


class _Database(MemoryJournal):
    """Takes agents with transactional tools: those are never run in a replay."""

    @property
    def transactional(self) -> bool:
        return True


def assert_replays(export: str | Path, agent: Agent, *, run: Sequence[str] = ()) -> None:
    """Fail, with the difference, if an exported conversation does not run through the agent as it did.

    `export` is the text that `journal.export` gave, or the path of a file with it (`turnkeeper export ID -f journal`).
    """
    import asyncio  # noqa: PLC0415 - with the test's own loop nothing has to do

    text = export.read_text("utf-8") if isinstance(export, Path) else export
    carried = whole_export(text)
    found = asyncio.run(replay(carried.conversation_id, carried.events, agent, run=run))
    if found.divergence is not None:
        raise AssertionError(f"conversation {carried.conversation_id} is not what it was\n{found.divergence}")


def recorded_agent(events: Sequence[Event], **options: Any) -> Agent:
    """An agent with the model, system prompt and tools that were written down with the conversation.

    `options` are those of `Agent` and come first. InputError if nothing was written down.
    """
    setups = [event for event in events if isinstance(event, RequestStarted) and event.setup is not None]
    if not setups:
        raise InputError("this conversation's prompt and tools were not written down; give the agent to replay with")
    last = setups[-1]
    setup = decode(last.setup or "{}")
    tools = [_stand_in(one, events) for one in setup["tools"] if one.get("name") != READ_RESULT.name]
    given = {"model": last.model, "system": setup["system"], "tools": tools, "extra": setup["extra"]}
    choices = [event.tool_choice for event in events if isinstance(event, TurnStarted) and event.tool_choice]
    if choices:
        given["tool_choice"] = choices[-1]
    if len(tools) < len(setup["tools"]):
        given["result_head"] = _head(events)
    return Agent(**{"max_tokens": last.max_tokens, **given, **options})


def _head(events: Sequence[Event]) -> int:
    """How much of a large result the model got; where none was large enough, as much as there may be."""
    whole = [event for event in events if isinstance(event, CallFinished) and event.whole is not None]
    cuts = [_CUT.search(str(decode(event.content))) for event in whole if event.content is not None]
    return next((int(cut[1]) for cut in cuts if cut), MOST_KEPT)


def _stand_in(definition: dict[str, Any], events: Sequence[Event]) -> Any:
    """A tool in name only: it has the recorded effect, and asks for approval where that was asked for."""
    if "input_schema" not in definition:
        return definition
    tool = definition["name"]
    effects = [event.effect for event in events if isinstance(event, CallStarted) and event.tool == tool]
    asked = [decode(event.input) for event in events if isinstance(event, ApprovalRequested) and event.tool == tool]

    def gone(**arguments: Any) -> str:
        raise TurnkeeperError(f"only the record of this tool is there; it was asked for {arguments}")

    about, schema = definition.get("description", ""), definition["input_schema"]
    made = Tool.from_schema(tool, about, schema, gone, approval=lambda given, *_: dict(given) in asked)
    return replace(made, effect=cast("Effect", effects[-1] if effects else "read"))


async def replay(
    conversation_id: str, events: Sequence[Event], agent: Agent, *, run: Sequence[str] = (), setup: bool = True
) -> Replay:
    """Run the turns of a conversation (all its events) again, up to the first divergence.

    `run` names tools that are run for real, `*` for all of effect `read`; the others give their recorded results. A
    tool that is `transactional` is never run. `setup=False` takes a prompt or tools that differ from the written ones
    as no divergence by themselves.
    """
    starts = [index for index, event in enumerate(events) if isinstance(event, TurnStarted)]
    for number, begin in enumerate(starts, 1):
        end = starts[number] if number < len(starts) else len(events)
        found = await _Turn(conversation_id, events, agent, number, begin, end, run, setup=setup).replayed()
        if found is not None:
            return Replay(conversation_id=conversation_id, turns=number, divergence=found)
    return Replay(conversation_id=conversation_id, turns=len(starts))


class _Turn:
    """One turn, from the events before it."""

    def __init__(
        self,
        conversation_id: str,
        events: Sequence[Event],
        agent: Agent,
        number: int,
        begin: int,
        end: int,
        run: Sequence[str],
        *,
        setup: bool,
    ) -> None:
        self._id = conversation_id
        self._agent = agent
        self._number = number
        self._before = list(events[:begin])
        self._imported = bool(self._before) and isinstance(self._before[-1], MessagesImported)
        if self._imported:
            self._before.pop()
        self._skip = len(self._before)
        self._wanted = list(events[self._skip : end])
        self._run = frozenset(run)
        self._setup = setup
        self._names = {
            call.id: call.name for event in events if isinstance(event, ReplyReceived) for call in event.calls
        }

    async def replayed(self) -> Divergence | None:
        journal = _Database()
        if self._before:
            await journal.append(self._id, self._before, after=0)
        at = self._wanted[0].at
        api = RecordedAPI(self._wanted)
        agent = self._agent.replaying(api, self._recorded, clock=lambda: at)
        note = ""
        async with agent.open(journal) as keeper:
            try:
                await self._hold(keeper, journal)
            except (APIError, InputError, IllegalEventError) as error:
                note = str(error)
        events = await journal.read(self._id)
        return self._compared(events[self._skip :], RUN_OUT if api.ran_out else note)

    async def _hold(self, keeper: Keeper, journal: MemoryJournal) -> None:
        start = next(event for event in self._wanted if isinstance(event, TurnStarted))
        who = None if start.principal is None else Principal(**start.principal)
        conversation = keeper.unopened(self._id, principal=who)
        await conversation.load()
        if start.content is None:
            imported = [
                decode(raw) for event in self._wanted if isinstance(event, MessagesImported) for raw in event.messages
            ]
            given = next(
                (event for event in self._wanted if isinstance(event, ReplyReceived) and event.number == 0), None
            )
            if given is not None:
                imported.append({"role": "assistant", "content": [decode(raw) for raw in given.blocks]})
            await conversation.answer(imported)
        else:
            await conversation.send(decode(start.content), key=start.key)
        for event in self._wanted:
            if isinstance(event, ApprovalDecided | CallResolved):
                await journal.append(self._id, [event], after=len(await journal.read(self._id)))
            elif event.type == "turn_woken" or isinstance(event, TurnResumed):
                conversation = keeper.unopened(self._id, principal=who)
                await conversation.load()
                await conversation.resume()

    def _recorded(self, call_id: str) -> CallFinished | None:
        name = self._names.get(call_id, "")
        tool = self._agent.tools.get(name)
        wanted = name in self._run or ("*" in self._run and tool is not None and tool.effect == "read")
        if wanted and tool is not None and tool.effect != "transactional":
            return None
        for event in self._wanted:
            if isinstance(event, CallFinished) and event.call_id == call_id:
                return event
        return CallFinished(
            call_id=call_id, state="failed", content='"no result of this call was recorded"', is_error=True
        )

    def _compared(self, now: Sequence[Event], note: str) -> Divergence | None:
        wanted, found = _in_order(self._wanted, self._skip), _in_order(now, self._skip)
        for index, (seq, then) in enumerate(wanted):
            if isinstance(then, TurnEnded) and then.status in ("limit_reached", "cancelled"):
                return None  # it ended for reasons that a replay does not have
            if index >= len(found):
                return self._differs(seq, then, None, note)
            today = found[index][1]
            if isinstance(then, RequestStarted) and isinstance(today, RequestStarted):
                changed = self._setup_changed(seq, then, today)
                if changed is not None:
                    return changed
            if not self._same(then, today):
                return self._differs(seq, then, today, note)
        if len(found) > len(wanted) and isinstance(self._wanted[-1], TurnEnded):
            return self._differs(self._skip + len(self._wanted), None, found[len(wanted)][1], note)
        return None

    def _same(self, then: Event, today: Event) -> bool:
        return type(then) is type(today) and _plain(then) == _plain(today)

    def _setup_changed(self, seq: int, then: RequestStarted, today: RequestStarted) -> Divergence | None:
        if not self._setup or today.setup is None:
            return None
        known = then.setup or next(
            (event.setup for event in reversed(self._before) if isinstance(event, RequestStarted) and event.setup), None
        )
        if known is None or known == today.setup:
            return None
        what = "what every request holds is not what it was"
        return Divergence(
            turn=self._number, seq=seq, what=what, diff=_diff(_setup_text(known), _setup_text(today.setup))
        )

    def _differs(self, seq: int, then: Event | None, today: Event | None, note: str) -> Divergence:
        what = f"{_named(then)} was written down, now it is {_named(today)}"
        diff = _diff(_text(then), _text(today))
        if note:
            diff += f"\n({note})"
        return Divergence(turn=self._number, seq=seq, what=what, diff=diff)


def _in_order(events: Sequence[Event], before: int) -> list[tuple[int, Event]]:
    """The events with their numbers; what calls that ran side by side wrote down, in the order of the calls."""
    found: list[tuple[int, Event]] = []
    batch: list[tuple[int, Event]] = []
    for seq, event in enumerate(events, before + 1):
        if event.type.startswith("call_"):
            batch.append((seq, event))
            continue
        found += sorted(batch, key=_of_call)
        batch = []
        found.append((seq, event))
    return found + sorted(batch, key=_of_call)


def _of_call(numbered: tuple[int, Event]) -> tuple[str, str]:
    event = numbered[1]
    return str(getattr(event, "call_id", "")), {"call_started": "1"}.get(event.type, "2")


def _plain(event: Event) -> dict[str, Any]:
    return {
        one.name: _parsed(event, one.name)
        for one in fields(event)
        if one.name not in _PASSING and not (isinstance(event, RequestFailed) and one.name in _FAILURE)
    }


def _parsed(event: Event, name: str) -> Any:
    value = getattr(event, name)
    if name in event.raw and value is not None:
        return decode(value)
    if name in event.raw_lists:
        return [decode(one) for one in value]
    return value


def _named(event: Event | None) -> str:
    return "nothing more" if event is None else event.type.replace("_", " ")


def _text(event: Event | None) -> str:
    return "" if event is None else json.dumps(_plain(event), ensure_ascii=False, indent=2, default=str)


def _setup_text(setup: str) -> str:
    value = decode(setup)
    system = value["system"]
    prompt = system if isinstance(system, str) else json.dumps(system, ensure_ascii=False, indent=2)
    rest = {"tools": value["tools"], "extra": value["extra"]}
    return f"{prompt}\n{json.dumps(rest, ensure_ascii=False, indent=2)}"


def _diff(then: str, today: str) -> str:
    lines = difflib.unified_diff(then.splitlines(), today.splitlines(), "recorded", "now", lineterm="", n=2)
    return "\n".join(_shortened(lines))


def _shortened(lines: Iterator[str]) -> Iterator[str]:
    for number, line in enumerate(lines):
        if number == _MOST_LINES:
            yield "…"
            return
        yield line if len(line) <= _MOST_LETTERS else f"{line[:_MOST_LETTERS]}…"


_MOST_LINES, _MOST_LETTERS = 60, 300
