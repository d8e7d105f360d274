"""A load of conversations for workers, one of which dies under it; and what must be true afterwards."""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import anyio
import sqlalchemy as sa

import turnkeeper as tk
from tests.workers.processes import until
from tests.workers.worker import GATE, MODEL, RUNS, TABLES, tools
from turnkeeper.core.events import CallFinished, CallResolved, CallStarted, Event, TurnEnded, TurnStarted
from turnkeeper.testing import MessagesAPI, call, reply
from turnkeeper.workers import Dispatcher, open_dispatcher

__all__ = ("Findings", "Load", "answer", "held_gate", "run")

ANA = tk.Principal("staff", "ana")
TOOLS = ("book", "notify", "pay")


def answer(body: dict[str, Any]) -> dict[str, Any]:
    """The model: every message of the user gets one call of each tool, then an answer."""
    last = body["messages"][-1]["content"]
    if isinstance(last, list) and any(block["type"] == "tool_result" for block in last):
        return reply("готово")
    number = sum(1 for message in body["messages"] if message["role"] == "user")
    return reply(*(call(name, {"number": number}) for name in TOOLS))


@contextlib.contextmanager
def held_gate(engine: sa.Engine) -> Iterator[None]:
    """While this lasts, workers that are `held` wait in the middle of their calls."""
    with engine.connect() as connection:
        connection.exec_driver_sql(f"SELECT pg_advisory_lock({GATE})")
        yield
        connection.exec_driver_sql(f"SELECT pg_advisory_unlock({GATE})")


@dataclass
class Load:
    """So many conversations with so many messages each, on one journal."""

    url: str
    api: MessagesAPI
    conversations: int
    messages: int
    world_url: str = ""

    def __post_init__(self) -> None:
        self.engine = sa.create_engine(self.url, poolclass=sa.pool.NullPool)
        self.world = sa.create_engine(self.world_url or self.url, poolclass=sa.pool.NullPool)
        for engine in (self.engine, self.world):
            TABLES.create_all(engine)
        self.names = [f"c-{number:03}" for number in range(self.conversations)]

    @property
    def turns(self) -> int:
        """How many turns there will be."""
        return self.conversations * self.messages

    async def post(self, dispatcher: Dispatcher) -> float:
        """Post every message, those of a conversation one after another, each twice; the seconds that took."""
        began = time.monotonic()
        limiter = anyio.CapacityLimiter(8)

        async def talk(name: str) -> None:
            who = tk.Principal("customer", name)
            async with limiter:
                for number in range(self.messages):
                    found = [
                        await dispatcher.post(name, f"сообщение {number}", key=f"sms-{number}", principal=who)
                        for _ in range(2)
                    ]
                    assert found == ["queued", "duplicate"]

        async with anyio.create_task_group() as group:
            for name in self.names:
                group.start_soon(talk, name)
        return time.monotonic() - began

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """What the database answers."""
        with self.engine.connect() as connection:
            return [tuple(row) for row in connection.exec_driver_sql(query)]

    async def calls_are_under_way(self) -> bool:
        """Whether a worker that is `held` waits in the middle of calls of each effect."""
        waiting = self.rows("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
        ran = self.rows("SELECT DISTINCT tool FROM test_runs")
        return waiting[0][0] >= 6 and {"notify", "pay"} <= {row[0] for row in ran}

    async def finish(self, dispatcher: Dispatcher, *, seconds: float) -> int:
        """Wait until every turn has ended. A person looks up what became of calls of unknown outcome; how many."""
        agent = tk.Agent(model=MODEL, api_key="none", tools=tools(self.world, "nobody", held=False))
        resolved = 0

        async def over() -> bool:
            nonlocal resolved
            resolved += await self._resolve(keeper, dispatcher)
            ((ended,),) = self.rows("SELECT count(*) FROM turnkeeper_events WHERE type = 'turn_ended'")
            return bool(ended >= self.turns)

        async with agent.open(dispatcher.journal) as keeper:
            await until(over, "every turn has ended", seconds=seconds)
        return resolved

    async def _resolve(self, keeper: tk.Keeper, dispatcher: Dispatcher) -> int:
        unknown = await keeper.outcomes.list()
        for one in unknown:
            assert one.tool == "pay"  # no other effect leaves anything to be found out
            if self.runs("pay")[one.key]:
                await keeper.outcomes.happened(one.conversation_id, one.call_id, by=ANA, result="paid, I looked")
            else:
                await keeper.outcomes.did_not_happen(one.conversation_id, one.call_id, by=ANA)
            await dispatcher.wake(one.conversation_id)
        return len(unknown)

    def runs(self, tool: str) -> Counter[str]:
        """How often the tool ran, by the key of the call."""
        engine = self.engine if tool == "book" else self.world
        with engine.connect() as connection:
            found = connection.execute(sa.select(RUNS.c.key, RUNS.c.principal).where(RUNS.c.tool == tool)).all()
        assert [one for one in found if not one.key.startswith(f"{one.principal}:")] == []  # in its sender's name
        return Counter(one.key for one in found)

    async def check(self, dispatcher: Dispatcher) -> Findings:
        """All complete, in order, nothing lost, each effect as declared; what else is worth knowing."""
        found = await dispatcher.journal.conversations(limit=10_000)
        assert Counter((one.id, one.status, one.turns) for one in found) == Counter(
            (name, "completed", self.messages) for name in self.names
        )
        events = {name: await dispatcher.journal.read(name) for name in self.names}
        for name, of in events.items():
            assert await dispatcher.journal.verify(name) == []
            assert await dispatcher.journal.queued(name) == []
            assert [one.key for one in of if isinstance(one, TurnStarted)] == [
                f"sms-{number}" for number in range(self.messages)
            ]
            assert [one.status for one in of if isinstance(one, TurnEnded)] == ["completed"] * self.messages
        self.api.assert_all_accepted()
        ends = _ends(one for of in events.values() for one in of)
        assert Counter(tool for tool, _ in ends) == dict.fromkeys(TOOLS, self.turns)
        runs = {tool: self.runs(tool) for tool in TOOLS}
        for (tool, key), end in ends.items():
            times = runs[tool].pop(key, 0)
            # a failed transaction left nothing; once is once, also where a person had to say so
            expected = {"book": end == "succeeded", "notify": max(times, 1), "pay": 1}[tool]
            assert times == expected, f"{tool} {key} {end}: {times}"
            runs["again"] = runs.get("again", Counter()) + Counter({key: times - 1})
        assert [key for tool in TOOLS for key in runs[tool]] == []
        return Findings(
            resolved=sum(isinstance(one, CallResolved) for of in events.values() for one in of),
            failed=sum(end == "failed" for end in ends.values()),
            again=len(runs["again"]),
        )

    def close(self) -> None:
        """Close the connections."""
        self.engine.dispose()
        self.world.dispose()


@dataclass(frozen=True)
class Findings:
    """Calls that a person had to find out about, calls that failed, idempotent calls that ran more than once."""

    resolved: int
    failed: int
    again: int


def _ends(events: Iterable[Event]) -> dict[tuple[str, str], str]:
    """How each call ended, by its tool and key."""
    started: dict[str, tuple[str, str]] = {}
    ends: dict[tuple[str, str], str] = {}
    for event in events:
        if isinstance(event, CallStarted):
            started[event.call_id] = (event.tool, event.key)
        elif isinstance(event, CallFinished):
            ends[started[event.call_id]] = event.state
        elif isinstance(event, CallResolved) and event.happened:
            ends[started[event.call_id]] = "resolved"
    return ends


Work = Callable[[Dispatcher], Awaitable[None]]


def run(url: str, work: Work) -> None:
    """Do something with a dispatcher."""

    async def whole() -> None:
        async with open_dispatcher(url) as dispatcher:
            await work(dispatcher)

    anyio.run(whole)
