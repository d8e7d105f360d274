"""Two programs over one journal file, killed anywhere with the lease in hand, taken over, people deciding beside them.

What must hold at the end, whatever came between: every message once, every call one result, every effect as its tool
declares, and nothing written by a driver after another had taken its conversation over.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import turnkeeper as tk
from tests.crash.stage import fast_folder
from tests.driver.mortal import ABOVE, EFFECTS, TABLE, Program, World
from tests.driver.test_walk import ANA, Model
from turnkeeper.core.events import (
    ApprovalDecided,
    ApprovalRequested,
    CallFinished,
    CallRejected,
    CallResolved,
    CallStarted,
    CallUnresolved,
    Event,
)
from turnkeeper.core.history import History
from turnkeeper.core.machine import replay
from turnkeeper.errors import ApprovalRefusedError, InputError, JournalError
from turnkeeper.journal.sql import SQLJournal
from turnkeeper.testing import MessagesAPI, call, faults, reply
from turnkeeper.wire.json import decode

LEASE = 31
"""Seconds after which a lease that nobody renews has run out."""

STEPS = st.tuples(
    st.sampled_from(["send", "interrupt", "cancel", "kill", *["kill at work", "recover"] * 3, *["decide"] * 2]),
    st.integers(1, 20),
)
CALLS = st.lists(
    st.builds(call, st.sampled_from(EFFECTS), st.builds(lambda n: {"n": n}, st.integers(1, 7))), min_size=1, max_size=4
)
REPLIES = st.one_of(
    st.builds(lambda calls: reply("Смотрю", *calls), CALLS),
    st.builds(lambda calls: reply("Смотрю", *calls), CALLS),
    st.just(reply("ok 🙂")),
    st.sampled_from([faults.overloaded(), faults.reset(), faults.cut(reply("ok"), before="message_stop")]),
)


@pytest.fixture(scope="module")
def empty() -> Iterator[Path]:
    """A journal file to copy, with the table of the tool that writes in it."""
    with fast_folder() as folder:
        path = Path(folder) / "empty.db"
        SQLJournal.open(f"sqlite:///{path}").close()
        with closing(sqlite3.connect(path)) as connection:
            connection.execute(TABLE)
        yield path


SEEN: Counter[str] = Counter()
"""What walks have come through: a property of things that never happen would be no property."""


def walk(empty: Path, drawn: list[Any], *plans: list[tuple[str, int]]) -> None:
    path = empty.with_name("journal.db")
    shutil.copyfile(empty, path)
    try:
        anyio.run(Race(path, drawn).run, *plans)
    finally:
        for one in empty.parent.glob("journal.db*"):
            one.unlink()


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    drawn=st.lists(REPLIES, min_size=3, max_size=8),
    first=st.lists(STEPS, min_size=3, max_size=8),
    second=st.lists(STEPS, min_size=3, max_size=8),
)
def test_two_programs_keep_every_message_and_every_effect_as_declared(
    empty: Path, drawn: list[Any], first: list[tuple[str, int]], second: list[tuple[str, int]]
) -> None:
    walk(empty, drawn, first, second)


def test_walks_come_through_all_that_they_are_about(empty: Path) -> None:
    """Nothing is left to chance here: the same judges, over one plan for each thing that may come between."""
    SEEN.clear()
    for effect in EFFECTS:
        for after in range(3):
            walk(empty, [reply(call(effect, {"n": 1}))], [("kill at work", after), ("recover", 1), ("decide", 1)])
    for decision in range(3):
        much = reply(call("once", {"n": ABOVE + 1}))
        walk(empty, [much], [("send", 1), ("decide", decision), ("recover", 1)])
    assert SEEN == {
        "died with the lease": 14,  # a `transactional` call has two points, the others three
        "took over": 14,
        "unknown": 3,  # `once`, wherever it was killed
        "run again": 2,  # `read` and `idempotent`, killed after they had happened
        "denied": 1,
        "approved": 1,
        "edited": 1,
        "read": 4,
        "idempotent": 4,
        "transactional": 3,
        "reconcile": 3,
        "once": 3 + 2,
    }


@pytest.mark.parametrize("after", range(1, 13))
def test_a_program_that_dies_while_it_takes_another_ones_turn_leaves_a_lease_of_the_usual_length(
    empty: Path, after: int
) -> None:
    """Whatever point it has come to: the last program finds the lease run out."""
    walk(empty, [reply(call("read", {"n": 1}))], [("kill at work", 0), ("kill", after)])


class Race:
    """One conversation, two programs."""

    def __init__(self, path: Path, drawn: list[Any]) -> None:
        self.path = path
        self.api = MessagesAPI(Model(drawn))
        self.world = World(self.api, f"sqlite:///{path}")
        self.tried: list[str] = []

    async def run(self, *plans: list[tuple[str, int]]) -> None:
        async with anyio.create_task_group() as group:
            for number, plan in enumerate(plans):
                group.start_soon(self.live, f"d{number}", list(enumerate(plan)))
        self.world.clock.advance(LEASE)
        last = Program(self.world)
        async with last.keeper() as keeper:
            await self.end(keeper)
            events = await keeper.journal.read("c")
            assert not events or await keeper.journal.verify("c") == []
        self.judge(events)

    async def live(self, name: str, plan: list[tuple[int, tuple[str, int]]]) -> None:
        """Follow the plan; a program that died is followed by another one."""
        while plan:
            program = Program(self.world)
            async with program.keeper() as keeper:
                while plan and program.alive:
                    number, (how, after) = plan.pop(0)
                    try:
                        await self.act(program, keeper, f"{name} слово {number}", how, after)
                    except (JournalError, InputError, tk.APIError, ApprovalRefusedError):
                        pass  # refused, taken over, failed, or dead: what follows goes on from there
                    finally:
                        program.under_way.clear()

    async def act(self, program: Program, keeper: tk.Keeper, words: str, how: str, after: int) -> None:
        if how == "recover":
            self.world.clock.advance(LEASE)
            await keeper.recover()
            return
        if how == "decide":
            await self.decide(keeper, after)
            return
        conversation = await keeper.conversation("c")
        self.tried.append(words)
        if how.startswith("kill"):
            program.dies_after = after if how == "kill" else None
            program.dies_at_work = 1 + after % 6 if how == "kill at work" else None
            try:
                await conversation.send(words, key=words, when_busy="interrupt")
            finally:
                program.alive = False
                SEEN["died with the lease"] += program.holds
        elif how == "cancel":
            async for _ in conversation.send(words, key=words):
                after -= 1
                if after == 0:
                    await conversation.cancel()
        else:
            await conversation.send(words, key=words, when_busy="interrupt" if how == "interrupt" else "refuse")

    async def decide(self, keeper: tk.Keeper, number: int) -> None:
        """People say something about all that waits, and of outcomes only what they know."""
        for approval in await keeper.approvals.list():
            if number % 3 == 0:
                await keeper.approvals.deny(approval.id, by=ANA, reason="нет")
            elif number % 3 == 1:
                await keeper.approvals.approve(approval.id, by=ANA, digest=approval.digest)
            else:
                await keeper.approvals.edit(approval.id, by=ANA, input={"n": 10 + number})
            number += 1
        for unknown in await keeper.outcomes.list():
            if self.world.happened[unknown.key]:
                await keeper.outcomes.happened("c", unknown.call_id, by=ANA, result="happened")
            elif not self.world.may_yet_happen(unknown.call_id):
                await keeper.outcomes.did_not_happen("c", unknown.call_id, by=ANA)

    async def end(self, keeper: tk.Keeper) -> None:
        """The last program: all that was left is done, and every message is sent again with its key."""
        conversation = await keeper.conversation("c")
        for words in [None, *self.tried]:
            for round_ in range(12):  # the script may still hold failures, and questions to people
                await self.decide(keeper, round_)
                turn = conversation.resume() if words is None else conversation.send(words, key=words)
                try:
                    found = await turn
                except tk.APIError:
                    continue
                except InputError:  # nothing to go on with; answered in an earlier turn
                    break
                if found.status in (tk.TurnStatus.COMPLETED, tk.TurnStatus.CANCELLED):
                    break
            else:
                raise AssertionError(f"{words!r} does not come to an end: {conversation.status}")

    def judge(self, events: Sequence[Event]) -> None:
        assert self.api.refusals == []
        assert self.world.unfenced == []
        replay(events)
        self.judge_history(History(events).messages())
        self.judge_approvals(events)
        self.judge_effects(events)
        with closing(sqlite3.connect(self.path)) as connection:
            tokens = [token for (token,) in connection.execute("SELECT token FROM turnkeeper_events ORDER BY seq")]
        assert len(tokens) == len(events)
        assert tokens == sorted(tokens)

    def judge_history(self, messages: Sequence[Any]) -> None:
        blocks = [block for m in messages if m["role"] == "user" for block in m["content"]]
        assert Counter(b["text"] for b in blocks if b["type"] == "text") == Counter(self.tried)
        asked = [b["id"] for m in messages if m["role"] == "assistant" for b in m["content"] if b["type"] == "tool_use"]
        assert [b["tool_use_id"] for b in blocks if b["type"] == "tool_result"] == asked

    def judge_approvals(self, events: Sequence[Event]) -> None:
        inputs = {e.call_id: decode(e.input) for e in events if isinstance(e, ApprovalRequested)}
        decided = [e for e in events if isinstance(e, ApprovalDecided)]
        SEEN.update(e.decision for e in decided)
        assert len({e.call_id for e in decided}) == len(decided)
        may = {e.call_id: decode(e.input) if e.input else inputs[e.call_id] for e in decided if e.decision != "denied"}
        started = {e.call_id: e.key for e in events if isinstance(e, CallStarted)}
        for call_id in started.keys() & inputs.keys():
            assert call_id in may
        for call_id, key in started.items():
            used = self.world.with_n.get(key, set())
            assert used <= {may[call_id]["n"]} if call_id in may else all(n <= ABOVE for n in used)

    def judge_effects(self, events: Sequence[Event]) -> None:
        """How often each call ran, by what its tool declares and by what the journal says of it."""
        starts = Counter(e.call_id for e in events if isinstance(e, CallStarted))
        effects = {e.call_id: (e.effect, e.key) for e in events if isinstance(e, CallStarted)}
        assert len({(e.call_id, e.key) for e in events if isinstance(e, CallStarted)}) == len(effects)
        ends = CallFinished | CallRejected | ApprovalDecided | CallResolved
        assert max(Counter(e.call_id for e in events if isinstance(e, ends) and e.content).values(), default=1) == 1
        done = {e.call_id for e in events if isinstance(e, CallFinished) and e.state == "succeeded"}
        said = {e.call_id for e in events if isinstance(e, CallResolved) and e.happened}
        with closing(sqlite3.connect(self.path)) as connection:
            booked = Counter(key for (key,) in connection.execute("SELECT key FROM booked"))
        assert booked == Counter(
            key for one, (effect, key) in effects.items() if effect == "transactional" and one in done
        )
        assert self.world.happened.keys() <= {key for _, key in effects.values()}
        for one, (effect, key) in effects.items():
            times = (booked if effect == "transactional" else self.world.happened)[key]
            most = starts[one] if effect in ("read", "idempotent") else 1
            assert (one in done or one in said) <= times <= most, (effect, times, starts[one])
            SEEN[effect] += times
            SEEN["run again"] += times > 1
        SEEN["unknown"] += sum(isinstance(e, CallUnresolved) for e in events)
        SEEN["took over"] += self.world.taken_over
