"""A load of conversations for workers, one of which dies under it; and what must be true afterwards."""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Any

import anyio
import sqlalchemy as sa

import turnkeeper as tk
from tests.workers.processes import until
from tests.workers.worker import GATE, MODEL, RUNS, TABLES, tools
from turnkeeper.core.events import CallResolved, CallStarted, TurnEnded, TurnStarted
from turnkeeper.testing import MessagesAPI, call, reply
from turnkeeper.workers import Dispatcher, open_dispatcher

__all__ = ("Load", "answer", "held_gate")

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

    def __post_init__(self) -> None:
        self.engine = sa.create_engine(self.url, poolclass=sa.pool.NullPool)
        TABLES.create_all(self.engine)
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

    async def finish(self, dispatcher: Dispatcher, *, seconds: float) -> int:
        """Wait until every turn has ended. A person looks up what became of calls of unknown outcome; how many."""
        agent = tk.Agent(model=MODEL, api_key="none", tools=tools(self.engine, "nobody", held=False))
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
            paid = self.rows(f"SELECT count(*) FROM test_runs WHERE key = '{one.key}'")[0][0]
            if paid:
                await keeper.outcomes.happened(one.conversation_id, one.call_id, by=ANA, result="paid, I looked")
            else:
                await keeper.outcomes.did_not_happen(one.conversation_id, one.call_id, by=ANA)
            await dispatcher.wake(one.conversation_id)
        return len(unknown)

    async def check(self, dispatcher: Dispatcher) -> Counter[int]:
        """All complete, in order, nothing lost, each effect as declared; how many runs the idempotent calls had."""
        journal = dispatcher.journal
        found = await journal.conversations(limit=10_000)
        assert Counter((one.id, one.status, one.turns) for one in found) == Counter(
            (name, "completed", self.messages) for name in self.names
        )
        started: list[CallStarted] = []
        for name in self.names:
            assert await journal.verify(name) == []
            assert await journal.queued(name) == []
            events = await journal.read(name)
            assert [one.key for one in events if isinstance(one, TurnStarted)] == [
                f"sms-{number}" for number in range(self.messages)
            ]
            assert [one.status for one in events if isinstance(one, TurnEnded)] == ["completed"] * self.messages
            started += [one for one in events if isinstance(one, CallStarted)]
        keys = {tool: {one.key for one in started if one.tool == tool} for tool in TOOLS}
        assert {tool: len(of) for tool, of in keys.items()} == dict.fromkeys(TOOLS, self.turns)
        runs = {tool: Counter[str]() for tool in TOOLS}
        with self.engine.connect() as connection:
            for tool, key, principal in connection.execute(sa.select(RUNS.c.tool, RUNS.c.key, RUNS.c.principal)):
                runs[tool][key] += 1
                assert key.startswith(f"{principal}:")  # in the name of who sent the message
        # once is once, also where a person had to say so; exactly once is exactly once; again is under the same key
        assert runs["pay"] == Counter(keys["pay"])
        assert runs["book"] == Counter(keys["book"])
        assert set(runs["notify"]) == keys["notify"]
        self.api.assert_all_accepted()
        return Counter(runs["notify"].values())

    async def unknown_outcomes(self, dispatcher: Dispatcher) -> int:
        """How many calls a person had to find out about."""
        events = [event for name in self.names for event in await dispatcher.journal.read(name)]
        return sum(isinstance(event, CallResolved) for event in events)


Work = Callable[[Dispatcher], Awaitable[None]]


def run(url: str, work: Work) -> None:
    """Do something with a dispatcher."""

    async def whole() -> None:
        async with open_dispatcher(url) as dispatcher:
            await work(dispatcher)

    anyio.run(whole)
