"""What is kept of each conversation is what its events say, however it was read."""

from __future__ import annotations

from decimal import Decimal

import anyio
import pytest

from tests.journal.samples import NOON, one_turn, started
from tests.web.test_console_conversations import Counted
from turnkeeper.core.events import Event, TurnWarned
from turnkeeper.journal import MemoryJournal
from turnkeeper.types import Principal
from turnkeeper.web.ledger import Ledger
from turnkeeper.web.stafflog import is_staff_log

pytestmark = pytest.mark.anyio
COST = Decimal("0.001689")


class Slow(MemoryJournal):
    """A journal whose reading lets others come between."""

    async def read(self, conversation_id: str, *, after: int = 0) -> list[Event]:
        found = await super().read(conversation_id, after=after)
        await anyio.lowlevel.checkpoint()
        return found


async def test_readers_that_come_at_the_same_time_count_nothing_twice() -> None:
    journal = Slow()
    ledger = Ledger(journal, is_staff_log)
    await journal.append("c", one_turn(), after=0)
    async with anyio.create_task_group() as group:
        for _ in range(5):
            group.start_soon(ledger.line, "c")
    line = await ledger.line("c")
    assert (line.seq, line.whole.usd, int(line.whole.requests)) == (9, COST, 2)
    await journal.append("c", [TurnWarned(at=NOON + 9, code="taken_over", message="ana")], after=9)
    async with anyio.create_task_group() as group:
        for _ in range(5):
            group.start_soon(ledger.line, "c")
    assert sum(total.usd for total in ledger.spent.values()) == COST
    assert ((await ledger.line("c")).seq, len(line.decisions), line.taken_over) == (10, 1, "ana")


async def test_a_conversation_begun_anew_under_an_old_id_has_nothing_of_the_old_one() -> None:
    journal = Counted()
    ledger = Ledger(journal, is_staff_log)
    await journal.append("c", [*one_turn(), TurnWarned(at=NOON + 9, code="taken_over", message="ana")], after=0)
    assert (await ledger.line("c")).taken_over == "ana"
    await journal.erase("c", by=Principal("staff", "ana"), now=NOON + 10)
    warned = [TurnWarned(at=NOON + 20, code="x", message="y")] * 20
    await journal.append("c", [started(at=NOON + 20), *warned], after=0)
    line = await ledger.line("c")
    assert (line.seq, line.taken_over, int(line.whole.requests), len(line.decisions)) == (21, None, 0, 0)
    assert ledger.spent == {}


async def test_no_more_lines_are_kept_than_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("turnkeeper.web.ledger.MOST_KEPT", 3)
    journal = Counted()
    ledger = Ledger(journal, is_staff_log)
    for number in range(5):
        await journal.append(f"c-{number}", one_turn(at=NOON + number * 10), after=0)
    assert await ledger.catch_up(most=100)
    assert ledger.left_out
    assert [line.conversation for line in ledger.lines] == ["c-4", "c-3", "c-2"], "the newest"
    assert [total.usd for total in ledger.spent.values()] == [Decimal("0.003702"), Decimal("0.001365")]
    await ledger.line("c-0")
    assert [line.conversation for line in ledger.lines] == ["c-3", "c-2", "c-0"]
    assert [total.usd for total in ledger.spent.values()] == [Decimal("0.003702"), Decimal("0.001365")]
    assert (await ledger.line("nobody")).seq == 0
    assert "nobody" not in [line.conversation for line in ledger.lines]
