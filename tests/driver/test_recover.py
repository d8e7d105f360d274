"""`keeper.recover()`: which of the turns that were left open it goes on with."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import turnkeeper as tk
from tests.driver.conftest import Make
from turnkeeper.core.events import ConversationStarted, TurnStarted
from turnkeeper.journal import Journal, open_journal
from turnkeeper.testing import FixedClock, MessagesAPI, script

pytestmark = pytest.mark.anyio


@pytest.fixture
async def journal(tmp_path: Path) -> AsyncIterator[Journal]:
    opened = await open_journal(f"sqlite:///{tmp_path}/journal.db")
    yield opened
    await opened.aclose()


async def left_open(journal: Journal, name: str, clock: FixedClock, *, holder: str) -> None:
    """A conversation whose message is written down, and whose driver holds the lease."""
    lease = await journal.acquire(name, holder=holder, seconds=30, now=clock())
    events = [ConversationStarted(at=clock()), TurnStarted(at=clock(), content='"Привет"')]
    await journal.append(name, events, after=0, token=lease.token)


def holder_of(pid: int) -> str:
    return f"{socket.gethostname()}:{pid}:0badcafe"


def gone() -> int:
    """The process id of a program that has ended."""
    done = subprocess.Popen(["true"])
    done.wait()
    return done.pid


async def test_a_turn_of_a_killed_process_is_recovered_at_once_though_its_lease_has_not_run_out(
    make: Make, journal: Journal
) -> None:
    clock = FixedClock()
    await left_open(journal, "c-1", clock, holder=holder_of(gone()))
    async with make(MessagesAPI(script("你好")), clock=clock).open(journal) as keeper:
        (found,) = await keeper.recover()
        assert (found.conversation_id, found.text, found.status) == ("c-1", "你好", tk.TurnStatus.COMPLETED)
        assert await keeper.recover() == ()


async def test_a_turn_that_another_process_is_at_work_on_is_passed_over(make: Make, journal: Journal) -> None:
    clock = FixedClock()
    await left_open(journal, "here", clock, holder=holder_of(os.getppid()))
    await left_open(journal, "elsewhere", clock, holder="another-machine:7:0badcafe")
    clock.advance(1)
    await left_open(journal, "left", clock, holder=holder_of(gone()))
    async with make(MessagesAPI(script("你好", "again", "again")), clock=clock).open(journal) as keeper:
        assert [found.conversation_id for found in await keeper.recover(limit=1)] == ["left"]
        assert await keeper.recover() == ()
        clock.advance(30)  # nobody renewed these leases
        assert [found.conversation_id for found in await keeper.recover()] == ["elsewhere", "here"]
