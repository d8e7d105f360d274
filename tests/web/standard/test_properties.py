"""Whatever a conversation goes through, its streams are valid, and a client ends up with just what the server has."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

import anyio
from ag_ui.core import Event
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

import turnkeeper as tk
from tests.web.standard.fronts import MODEL, Shop
from turnkeeper.testing import MessagesAPI, call, faults, reply, script, thinking
from turnkeeper.web import Service
from turnkeeper.web.standard.agui import Run, data_of, messages_of
from turnkeeper.web.standard.aisdk import UIStream
from turnkeeper.web.standard.following import Target, follow, known
from turnkeeper.wire.json import encode

VALID: TypeAdapter[Any] = TypeAdapter(Event)
ANA, JOHN = tk.Principal("staff", "ana"), tk.Principal("customer", "john")

TEXTS = st.text(st.characters(codec=None, exclude_categories=()), min_size=1, max_size=40).filter(str.strip)
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("status", {"order": "24601"}),
    ("refund", {"order": "1", "amount": 5}),  # waits for a person
    ("refund", {"order": "1"}),  # refused: an argument is missing
    ("nothing", {}),  # refused: there is no such tool
]


@dataclass
class Client:
    """What an AG-UI client keeps, by the protocol's rules; raises AssertionError where a stream breaks them."""

    messages: list[dict[str, Any]] = field(default_factory=list)
    open: str | None = None
    over: bool = False
    begun: bool = False
    calls: set[str] = field(default_factory=set)

    def run(self) -> None:
        self.open, self.over, self.begun = None, False, False

    def take(self, event: dict[str, Any]) -> None:
        VALID.validate_python(event)
        assert not self.over, "an event behind the last one"
        assert self.begun or event["type"] in ("RUN_STARTED", "RUN_ERROR")
        getattr(self, event["type"].lower(), lambda _: None)(event)

    def run_started(self, event: dict[str, Any]) -> None:
        assert not self.begun
        self.begun = True

    def run_finished(self, event: dict[str, Any]) -> None:
        assert self.open is None, "a message is open"
        self.over = True

    def run_error(self, event: dict[str, Any]) -> None:
        self.over = True

    def messages_snapshot(self, event: dict[str, Any]) -> None:
        assert self.open is None
        self.messages = [dict(one) for one in event["messages"]]

    def text_message_start(self, event: dict[str, Any]) -> None:
        assert self.open is None
        self.open = event["messageId"]
        self._assistant(event["messageId"]).setdefault("content", "")

    def text_message_content(self, event: dict[str, Any]) -> None:
        assert self.open == event["messageId"]
        self._assistant(event["messageId"])["content"] += event["delta"]

    def text_message_end(self, event: dict[str, Any]) -> None:
        assert self.open == event["messageId"]
        self.open = None

    def tool_call_start(self, event: dict[str, Any]) -> None:
        self.calls.add(event["toolCallId"])
        function = {"name": event["toolCallName"], "arguments": ""}
        made = {"id": event["toolCallId"], "type": "function", "function": function}
        self._assistant(event["parentMessageId"]).setdefault("toolCalls", []).append(made)

    def tool_call_args(self, event: dict[str, Any]) -> None:
        (made,) = [
            one for message in self.messages for one in message.get("toolCalls", ()) if one["id"] == event["toolCallId"]
        ]
        made["function"]["arguments"] += event["delta"]

    def tool_call_result(self, event: dict[str, Any]) -> None:
        assert event["toolCallId"] in self.calls
        result = {"id": event["messageId"], "role": "tool", "toolCallId": event["toolCallId"]}
        self.messages.append({**result, "content": event["content"]})

    def _assistant(self, name: str) -> dict[str, Any]:
        for one in self.messages:
            if one["id"] == name:
                return one
        self.messages.append({"id": name, "role": "assistant"})
        return self.messages[-1]


def check_parts(parts: Sequence[dict[str, Any]]) -> None:
    """The order that the AI SDK's stream protocol wants."""
    texts: set[str] = set()
    for part in parts:
        json.loads(encode(part))
        kind = part["type"]
        if kind == "text-start":
            assert part["id"] not in texts
            texts.add(part["id"])
        elif kind == "text-delta":
            assert part["id"] in texts
        elif kind == "text-end":
            texts.remove(part["id"])
    assert texts == set()
    assert parts[0]["type"] == "start"
    assert parts[-1]["type"] in ("finish", "abort")


async def collected(events: AsyncGenerator[Any], most: int | None = None) -> list[Any]:
    found: list[Any] = []
    async with aclosing(events):
        async for event in events:
            found.append(event)
            if most is not None and len(found) >= most:
                break
    return found


@st.composite
def turns(draw: st.DrawFn) -> list[Any]:
    """Replies of one turn: some with calls, some that break off, and one that ends it."""
    found: list[Any] = []
    for number in range(draw(st.integers(0, 3))):
        chosen = draw(st.lists(st.sampled_from(CALLS), min_size=1, max_size=3))
        blocks: list[Any] = [call(name, given, id=f"toolu_{number}_{at}") for at, (name, given) in enumerate(chosen)]
        if draw(st.booleans()):
            blocks.insert(0, draw(TEXTS))
        if draw(st.booleans()):
            blocks.insert(0, thinking(draw(TEXTS)))
        found.append(_told(draw, reply(*blocks, chunk=draw(st.integers(1, 9)))))
    found.append(_told(draw, reply(draw(TEXTS), chunk=draw(st.integers(1, 9)))))
    return found


def _told(draw: st.DrawFn, said: Any) -> Any:
    """The reply, or its beginning and then the reply."""
    return [faults.cut(said, after=draw(st.integers(1, 8))), said] if draw(st.booleans()) else [said]


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(replies=turns(), calls=st.booleans(), lost=st.none() | st.integers(1, 12), decisions=st.lists(st.booleans()))
def test_any_conversation_gives_streams_that_leave_the_client_with_the_servers_messages(
    replies: list[Any], calls: bool, lost: int | None, decisions: list[bool]
) -> None:
    anyio.run(_held, [one for told in replies for one in told], calls, lost, decisions)


async def _held(replies: list[Any], calls: bool, lost: int | None, decisions: list[bool]) -> None:
    api = MessagesAPI(script(*replies))
    agent = tk.Agent(model=MODEL, client=api, tools=Shop().tools(), sleep=api.clock.sleep)
    client = Client([{"id": "m1", "role": "user", "content": "hi"}])
    async with agent.open() as keeper, anyio.create_task_group() as group:
        service, started = Service(keeper), anyio.Event()
        group.start_soon(service.run, started)
        await started.wait()
        await service.post("c", "hi", key="m1", principal=JOHN)
        if lost is not None:  # a client that goes away in the middle, and comes back
            client.run()
            for event in await _run(service, Target(turn=None, key="m1", after=0), calls, most=lost):
                client.take(event)
        choices = iter(decisions)
        while True:
            client.run()
            events = await journal(service)
            about = known("c", events, service, calls=calls)
            turn = about.turns.get("m1")
            target = Target(turn=turn, key="m1", after=turn or 0)
            for event in await _run(service, target, calls, snapshot=about.until(turn) if turn else None):
                client.take(event)
            assert client.over
            waiting = await keeper.approvals.list("c")
            if not waiting:
                break
            for one in waiting:
                decide = keeper.approvals.approve if next(choices, True) else keeper.approvals.deny
                await _once_free(decide, one.id)
            service.kick("c")
        about = known("c", await journal(service), service, calls=calls)
        wanted = [json.loads(data_of(one)) for one in messages_of(about.history.messages)]  # type: ignore[arg-type]
        assert client.messages == wanted
        stream = UIStream(calls=calls)
        told = follow(service, "c", Target(turn=about.turns["m1"], key=None, after=0), stream, calls=calls)
        check_parts([stream.started("a-m1"), *await collected(told)])
        group.cancel_scope.cancel()


async def journal(service: Service) -> list[Any]:
    return list(await service.journal.read("c"))


async def _once_free(decide: Any, approval: str) -> None:
    """The driver lets go of the conversation a moment after its turn was seen to wait."""
    while True:
        try:
            await decide(approval, by=ANA)
        except tk.errors.ConversationBusyError:
            await anyio.lowlevel.checkpoint()
        else:
            return


async def _run(
    service: Service, target: Target, calls: bool, *, most: int | None = None, snapshot: Any = None
) -> list[dict[str, Any]]:
    run = Run("c", "r", calls=calls, version="1.0")
    opening = [run.started()] + ([run.snapshot(snapshot)] if snapshot is not None else [])
    events = await collected(follow(service, "c", target, run, calls=calls), most)
    return [json.loads(data_of(event)) for event in [*opening, *events]]
