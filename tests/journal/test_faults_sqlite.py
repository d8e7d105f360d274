"""Faults of a SQLite journal: each is told clearly, changes nothing, and is over when its cause is gone."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
import sqlalchemy as sa

from tests.journal.conftest import Open
from tests.journal.samples import ANA, NOON, one_turn, said, started
from turnkeeper.core.events import TurnWarned
from turnkeeper.errors import ConversationBusyError, JournalError
from turnkeeper.journal import Journal, open_journal
from turnkeeper.journal.errors import (
    JournalDamagedError,
    JournalLockedError,
    JournalReadOnlyError,
    JournalStorageError,
)

pytestmark = pytest.mark.anyio

BIG = TurnWarned(code="big", message="x" * 200_000)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Another program holds the write lock meanwhile."""
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    try:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")
    finally:
        other.close()


async def test_a_lock_that_is_held_too_long_fails_clearly_and_loses_nothing(tmp_path: Path, opened: Open) -> None:
    """Report B15-sqlite-locked.

    https://github.com/mem0ai/mem0/issues/7196
    """
    path = tmp_path / "journal.db"
    journal = await opened(f"sqlite:///{path}?timeout=0.1")
    await journal.append("c-1", one_turn(), after=0)
    with locked(path):
        with pytest.raises(JournalLockedError, match=r"journal\.db.*append to conversation 'c-1'.*Try again") as told:
            await journal.append("c-1", [said()], after=9)
        with pytest.raises(JournalLockedError, match="lease conversation 'c-1'"):
            await journal.acquire("c-1", holder="h", seconds=1, now=NOON)
        assert told.value.retryable
        assert await journal.read("c-1") == one_turn()
    assert await journal.append("c-1", [said()], after=9) == 10


async def test_a_short_lock_is_waited_for(tmp_path: Path, opened: Open) -> None:
    """Report B15-sqlite-locked.

    https://github.com/mem0ai/mem0/issues/7196
    """
    path = tmp_path / "journal.db"
    journal = await opened(f"sqlite:///{path}")
    done = anyio.Event()

    async def write() -> None:
        await journal.append("c-1", one_turn(), after=0)
        done.set()

    async with anyio.create_task_group() as group:
        with locked(path):
            group.start_soon(write)
            with anyio.move_on_after(0.3) as patience:
                await done.wait()
            assert patience.cancelled_caught
            assert await journal.read("c-1") == []
    assert await journal.read("c-1") == one_turn()


async def test_writers_that_queue_in_one_program_do_not_wait_for_ever(tmp_path: Path, opened: Open) -> None:
    path = tmp_path / "journal.db"
    journal = await opened(f"sqlite:///{path}?timeout=0.1")
    told: list[str] = []

    async def write(name: str) -> None:
        with pytest.raises(JournalLockedError) as refused:
            await journal.append(name, [started()], after=0)
        told.append(str(refused.value))

    with locked(path), anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            for number in range(6):
                group.start_soon(write, f"c-{number}")
    assert len(told) == 6
    assert any("other writers were before it" in text for text in told)
    assert await journal.conversations() == []


async def test_an_append_that_began_is_finished_though_its_task_is_cancelled(tmp_path: Path, opened: Open) -> None:
    path = tmp_path / "journal.db"
    journal = await opened(f"sqlite:///{path}")
    scope = anyio.CancelScope()

    async def write() -> None:
        with scope:
            await journal.append("c-1", [started()], after=0)

    async with anyio.create_task_group() as group:
        with locked(path):
            group.start_soon(write)
            with anyio.move_on_after(0.2):
                await anyio.sleep_forever()
            scope.cancel()
    assert await journal.read("c-1") == [started()]


async def test_closing_waits_for_what_is_under_way(tmp_path: Path, opened: Open) -> None:
    path = tmp_path / "journal.db"
    journal = await opened(f"sqlite:///{path}")
    async with anyio.create_task_group() as group:
        with locked(path):
            group.start_soon(append_first, journal)
            with anyio.move_on_after(0.2):
                await anyio.sleep_forever()
            group.start_soon(journal.aclose)
    assert [one.name for one in files(tmp_path)] == ["journal.db"]
    assert await (await opened(f"sqlite:///{path}")).read("c-1") == [started()]


async def append_first(journal: Journal) -> None:
    await journal.append("c-1", [started()], after=0)


async def test_a_full_disk_is_told_and_over_when_there_is_room(tmp_path: Path, opened: Open) -> None:
    journal = await opened(f"sqlite:///{tmp_path}/journal.db")
    await journal.append("c-1", one_turn(), after=0)
    limit = {"pages": 30}

    def restrict(connection: Any, *_: Any) -> None:
        connection.execute(f"PRAGMA max_page_count = {limit['pages']}")

    sa.event.listen(sa.Engine, "checkout", restrict)
    try:
        with pytest.raises(JournalStorageError, match=r"journal\.db.*disk is full.*nothing was written"):
            await journal.append("c-1", [said(), BIG], after=9)
        assert await journal.read("c-1") == one_turn()
        assert await journal.append("c-1", [said()], after=9) == 10
        limit["pages"] = 2**30
        assert await journal.append("c-1", [BIG], after=10) == 11
    finally:
        sa.event.remove(sa.Engine, "checkout", restrict)
    assert await journal.read("c-1", after=9) == [said(), BIG]
    assert await journal.verify("c-1") == []


LIMITED = """
import anyio, resource, sys
from tests.journal.samples import one_turn, said
from tests.journal.test_faults_sqlite import BIG
from turnkeeper.journal import Journal, open_journal
from turnkeeper.journal.errors import JournalStorageError

async def main():
    journal = await open_journal(sys.argv[1])
    await journal.append("c-1", one_turn(), after=0)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, hard))
    try:
        await journal.append("c-1", [said(), BIG], after=9)
    except JournalStorageError as error:
        print(error)
    assert await journal.read("c-1") == one_turn()
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert await journal.append("c-1", [said(), BIG], after=9) == 11
    assert await journal.verify("c-1") == []
    await journal.aclose()

anyio.run(main)
"""


async def test_a_limit_on_the_size_of_files_is_told_and_over_when_lifted(sqlite_url: str, opened: Open) -> None:
    done = await anyio.run_process([sys.executable, "-c", LIMITED, sqlite_url], check=False, cwd=os.getcwd())
    assert (done.returncode, done.stderr.decode()) == (0, "")
    assert "could not append to conversation 'c-1': its file can't be written" in done.stdout.decode()
    journal = await opened(sqlite_url)
    assert await journal.read("c-1") == [*one_turn(), said(), BIG]


@contextmanager
def as_an_ordinary_user() -> Iterator[Path]:
    """A folder that everybody may enter; root, to whom modes mean nothing, becomes nobody meanwhile."""
    folder = Path(tempfile.mkdtemp(prefix="turnkeeper-"))
    root = os.geteuid() == 0
    try:
        folder.chmod(0o755)
        if root:
            os.chown(folder, 65534, 65534)
            os.seteuid(65534)
        yield folder
    finally:
        if root:
            os.seteuid(0)
        shutil.rmtree(folder)


async def test_a_read_only_file_is_read_and_not_written() -> None:
    with as_an_ordinary_user() as folder:
        url = f"sqlite:///{folder}/journal.db"
        await filled(url)
        mode(folder / "journal.db", 0o400)
        journal = await open_journal(url)
        assert await journal.read("c-1") == one_turn()
        assert [one.id for one in await journal.conversations()] == ["c-1"]
        with pytest.raises(JournalReadOnlyError, match=r"journal\.db.*append.*read-only.*-wal and -shm"):
            await journal.append("c-1", [said()], after=9)
        with pytest.raises(JournalReadOnlyError):
            await journal.erase("c-1", by=ANA, now=NOON)
        await journal.aclose()
        for path in files(folder):  # SQLite gives the files beside it the same mode
            mode(path, 0o600)
        assert await filled(url, [said()], after=9) == 10


async def test_a_read_only_folder_is_told() -> None:
    with as_an_ordinary_user() as folder:
        mode(folder, 0o500)
        with pytest.raises(JournalReadOnlyError, match=r"journal\.db.*Permission denied.*Look at the modes"):
            await open_journal(f"sqlite:///{folder}/journal.db")
        with pytest.raises(JournalReadOnlyError, match="Permission denied"):
            await open_journal(f"sqlite:///{folder}/sub/journal.db")
        mode(folder, 0o700)
        url = f"sqlite:///{folder}/journal.db"
        await filled(url)
        mode(folder, 0o500)
        with pytest.raises(JournalReadOnlyError, match=r"could not be opened.*modes of the file.*and its folder"):
            await open_journal(url)
        mode(folder, 0o700)
        assert await filled(url, [said()], after=9) == 10


async def test_a_file_that_may_not_be_read_is_told() -> None:
    with as_an_ordinary_user() as folder:
        url = f"sqlite:///{folder}/journal.db"
        await filled(url)
        mode(folder / "journal.db", 0o000)
        with pytest.raises(JournalReadOnlyError, match="Permission denied"):
            await open_journal(url)
        mode(folder / "journal.db", 0o600)


async def test_a_journal_may_be_opened_for_reading_only(sqlite_url: str, opened: Open) -> None:
    writer = await opened(sqlite_url)
    await writer.append("c-1", one_turn(), after=0)
    reader = await opened(sqlite_url.replace("sqlite:///", "sqlite:///file:") + "?mode=ro&uri=true")
    assert await reader.read("c-1") == one_turn()
    with pytest.raises(JournalReadOnlyError, match="read-only"):
        await reader.append("c-1", [said()], after=9)
    assert await writer.append("c-1", [said()], after=9) == 10
    assert len(await reader.read("c-1")) == 10


async def test_a_damaged_file_is_told(tmp_path: Path, opened: Open) -> None:
    url = f"sqlite:///{tmp_path}/journal.db"
    journal = await opened(url)
    await journal.append("c-1", [*one_turn(), BIG], after=0)
    await journal.aclose()
    overwrite(tmp_path / "journal.db")
    journal = await opened(url)
    with pytest.raises(JournalDamagedError, match=r"read conversation 'c-1'.*damaged.*backup"):
        await journal.read("c-1")


async def test_a_busy_conversation_is_no_fault_of_the_journal(sqlite_url: str, opened: Open) -> None:
    journal = await opened(sqlite_url)
    with pytest.raises(ConversationBusyError) as refused:
        await journal.append("c-1", [said()], after=5)
    assert isinstance(refused.value, JournalError)
    assert not isinstance(refused.value, JournalLockedError)


async def filled(url: str, events: Any = None, *, after: int = 0) -> int:
    journal = await open_journal(url)
    last = await journal.append("c-1", events or one_turn(), after=after)
    await journal.aclose()
    return last


def mode(path: Path, bits: int) -> None:
    path.chmod(bits)


def files(folder: Path) -> list[Path]:
    return list(folder.iterdir())


def overwrite(path: Path) -> None:
    """Write nonsense over all pages but the first few, which hold the schema."""
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(4096 * 24)
        file.write(b"\xff" * (size - 4096 * 24))


def test_the_command_line_of_sqlite_sees_what_was_appended(tmp_path: Path) -> None:
    program = "import anyio, sys\nfrom tests.journal.test_faults_sqlite import filled\nanyio.run(filled, sys.argv[1])\n"
    path = tmp_path / "journal.db"
    subprocess.run([sys.executable, "-c", program, f"sqlite:///{path}"], check=True, timeout=60)
    with sqlite3.connect(path) as connection:
        found = connection.execute("SELECT count(*), max(seq) FROM turnkeeper_events").fetchone()
    connection.close()
    assert found == (9, 9)
