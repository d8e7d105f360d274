"""Random walks: every journal behaves as a list with a lock would, whatever is done in whatever order."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Coroutine
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from tests.journal.samples import ANA, NOON, OLGA, ended, said, started
from turnkeeper.core.events import Event, TurnResumed, TurnStarted, TurnWarned
from turnkeeper.errors import ConversationBusyError, UnknownConversationError
from turnkeeper.journal import Lease, MemoryJournal, open_journal
from turnkeeper.journal.errors import ConversationExistsError
from turnkeeper.wire.json import encode

T = TypeVar("T")
TEXT = st.text(max_size=8) | st.sampled_from(["", "\x00", "🙂", "\ufffd", "שלום", "a\nb"])
EVENT = st.one_of(
    TEXT.map(said),
    st.just(TurnResumed(at=NOON + 2)),
    st.sampled_from(["completed", "failed"]).map(ended),
    st.builds(TurnWarned, at=st.floats(0, 2e9), code=TEXT, message=TEXT),
)
NAMES = st.sampled_from(["a", "b", "заказ"])
HOLDERS = st.sampled_from(["x", "y"])
KEYS = st.sampled_from(["k1", "k2", "ключ 3"])


@dataclass
class Model:
    """One conversation, as simply as can be."""

    events: list[Event] = field(default_factory=list)
    token: int = 0
    holder: str | None = None
    until: float = 0.0
    since: float = 0.0
    queue: dict[str, str] = field(default_factory=dict)
    keys: set[str] = field(default_factory=set)


class Walk(RuleBasedStateMachine):
    """Does the same to a journal and to the model, and compares what comes back."""

    url = "memory:"

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.Runner()
        self.folder = tempfile.TemporaryDirectory()
        self.here = self.url.replace("FOLDER", self.folder.name)
        self.journal = self.do(open_journal(self.here))
        self.models: dict[str, Model] = {}
        self.erased: list[str] = []
        self.leases: list[Lease] = []
        self.exports: dict[str, str] = {}
        self.now = NOON

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        return self.loop.run(work)

    def model(self, name: str) -> Model:
        return self.models.setdefault(name, Model())

    def refuses(self, work: Coroutine[Any, Any, Any], error: type[Exception]) -> None:
        with pytest.raises(error):
            self.do(work)

    @rule(name=NAMES, events=st.lists(EVENT, min_size=1, max_size=4), off=st.sampled_from([0, 0, 0, 0, 1, -1]))
    def append(self, name: str, events: list[Event], off: int) -> None:
        model = self.model(name)
        if not model.events:
            events = [started(OLGA if name == "a" else ANA), *events]
        after = len(model.events) + off
        if off or after < 0:
            self.refuses(self.journal.append(name, events, after=after), ConversationBusyError)
        else:
            assert self.do(self.journal.append(name, events, after=after)) == after + len(events)
            model.events += events

    @rule(number=st.integers(0, 9), event=EVENT)
    def append_under_a_lease(self, number: int, event: Event) -> None:
        if self.leases:
            lease = self.leases[number % len(self.leases)]
            model = self.model(lease.conversation_id)
            events = [event] if model.events else [started(None), event]
            work = self.journal.append(lease.conversation_id, events, after=len(model.events), token=lease.token)
            if lease.token == model.token:
                self.do(work)
                model.events += events
            else:
                self.refuses(work, ConversationBusyError)

    @rule(name=NAMES, key=KEYS, text=TEXT)
    def enqueue(self, name: str, key: str, text: str) -> None:
        model = self.model(name)
        work = self.journal.enqueue(name, encode(text), key=key, principal=None, now=self.now)
        assert self.do(work) is (key not in model.keys)
        if key not in model.keys:
            model.queue[key] = encode(text)
            model.keys.add(key)

    @rule(name=NAMES, key=KEYS)
    def dequeue(self, name: str, key: str) -> None:
        assert self.do(self.journal.dequeue(name, key)) is (self.model(name).queue.pop(key, None) is not None)

    @rule(name=NAMES, key=KEYS)
    def begin_a_turn(self, name: str, key: str) -> None:
        model = self.model(name)
        events: list[Event] = [replace(said("…"), key=key), ended()]
        events = events if model.events else [started(None), *events]
        self.do(self.journal.append(name, events, after=len(model.events)))
        model.events += events
        model.queue.pop(key, None)
        model.keys.add(key)

    @rule(seconds=st.sampled_from([0.0, 1.0, 20.0, 100.0]))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @rule(name=NAMES, holder=HOLDERS, instead_of=st.none() | HOLDERS)
    def acquire(self, name: str, holder: str, instead_of: str | None) -> None:
        model = self.model(name)
        taken = model.holder == instead_of != holder
        held = model.holder is not None and model.until > self.now and not taken
        work = self.journal.acquire(name, holder=holder, seconds=30, now=self.now, instead_of=instead_of)
        if held and model.holder != holder:
            self.refuses(work, ConversationBusyError)
            return
        if not held:
            model.token, model.since = model.token + 1, self.now
        model.holder, model.until = holder, self.now + 30
        lease = self.do(work)
        expected = Lease(
            conversation_id=name, holder=holder, token=model.token, since=model.since, expires_at=model.until
        )
        assert lease == expected
        self.leases.append(lease)

    @rule(number=st.integers(0, 9), give_back=st.booleans())
    def renew_or_release(self, number: int, give_back: bool) -> None:
        if self.leases:
            lease = self.leases[number % len(self.leases)]
            model = self.model(lease.conversation_id)
            mine = model.holder is not None and model.token == lease.token
            if give_back:
                self.do(self.journal.release(lease))
                model.holder = None if mine else model.holder
            elif mine:
                model.until = self.now + 30
                assert self.do(self.journal.renew(lease, seconds=30, now=self.now)).expires_at == model.until
            else:
                self.refuses(self.journal.renew(lease, seconds=30, now=self.now), ConversationBusyError)

    @rule(name=NAMES)
    def erase(self, name: str) -> None:
        model = self.model(name)
        work = self.journal.erase(name, by=ANA, now=self.now)
        if not model.events and not model.keys:
            self.refuses(work, UnknownConversationError)
            return
        assert [one.events for one in self.do(work)] == [len(model.events)]
        self.models[name] = Model(token=model.token + 1)
        self.erased.append(name)

    @rule(name=NAMES)
    def export(self, name: str) -> None:
        if self.model(name).events:
            self.exports[name] = self.do(self.journal.export(name))

    @rule(name=NAMES)
    def import_(self, name: str) -> None:
        if name in self.exports:
            work = self.journal.import_(self.exports[name])
            if self.model(name).events:
                self.refuses(work, ConversationExistsError)
                return
            self.do(work)
            there = MemoryJournal()
            self.do(there.import_(self.exports[name]))
            self.model(name).events = self.do(there.read(name))
            tokens = [int(part.split(",")[0]) for part in self.exports[name].split('"token":')[1:] if part[0].isdigit()]
            self.model(name).token = max([self.model(name).token, *tokens])
            for key in {event.key for event in self.model(name).events if isinstance(event, TurnStarted)} - {None}:
                self.model(name).queue.pop(str(key), None)
                self.model(name).keys.add(str(key))

    @rule()
    def reopen(self) -> None:
        if self.here != "memory:":
            self.do(self.journal.aclose())
            self.journal = self.do(open_journal(self.here))

    @invariant()
    def everything_is_as_the_model_says(self) -> None:
        there = {name: model for name, model in self.models.items() if model.events}
        for name, model in self.models.items():
            assert self.do(self.journal.read(name)) == model.events
            half = len(model.events) // 2
            assert self.do(self.journal.read(name, after=half)) == model.events[half:]
        assert {one.id: one.events for one in self.do(self.journal.conversations())} == {
            name: len(model.events) for name, model in there.items()
        }
        for name in there:
            assert self.do(self.journal.verify(name)) == []
        self.the_open_ones_are_found(there)
        for name, model in self.models.items():
            found = self.do(self.journal.queued(name))
            assert [(one.key, one.content) for one in found] == list(model.queue.items())
        waiting = {name for name, model in self.models.items() if model.queue and self.is_free(model)}
        assert set(self.do(self.journal.backlog(now=self.now))) == waiting
        assert [one.conversation_id for one in self.do(self.journal.erasures())] == self.erased[::-1]

    def the_open_ones_are_found(self, there: dict[str, Model]) -> None:
        def is_open(model: Model) -> bool:
            steps = [e.type for e in model.events if e.type in ("turn_started", "turn_resumed", "turn_ended")]
            return "turn_started" in steps and steps[-1] != "turn_ended"

        found = {one.id for one in self.do(self.journal.unfinished(now=self.now))}
        assert found == {name for name, model in there.items() if is_open(model) and self.is_free(model)}

    def is_free(self, model: Model) -> bool:
        return model.holder is None or model.until <= self.now

    def teardown(self) -> None:
        self.do(self.journal.aclose())
        self.loop.close()
        self.folder.cleanup()


def walk(url: str, examples: int) -> None:
    machine = type("Walk", (Walk,), {"url": url})
    quick = settings(
        max_examples=examples, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
    )
    run_state_machine_as_test(machine, settings=quick)


def test_a_walk_over_memory() -> None:
    walk("memory:", 60)


def test_a_walk_over_sqlite() -> None:
    walk("sqlite:///FOLDER/journal.db", 15)


def test_a_walk_over_postgresql(postgres_database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tables are emptied before each walk, because the database stays."""
    engine = sa.create_engine(postgres_database, poolclass=sa.pool.NullPool)

    def begin(self: Walk, *_: Any) -> None:
        with engine.begin() as connection:
            for table in ("turnkeeper_inbox", "turnkeeper_events", "turnkeeper_conversations", "turnkeeper_erasures"):
                if sa.inspect(connection).has_table(table):
                    connection.exec_driver_sql(f"DELETE FROM {table}")
        plain(self)

    plain = Walk.__init__
    monkeypatch.setattr(Walk, "__init__", begin)
    walk(postgres_database, 15)
