"""Opening: which URLs are journals, what is made, what is refused and how, and what is loaded for it."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import anyio
import pytest
import sqlalchemy as sa

from tests.journal.conftest import Open
from tests.journal.samples import one_turn, started
from turnkeeper.errors import JournalError, JournalVersionError
from turnkeeper.journal import MemoryJournal, SQLJournal, open_journal
from turnkeeper.journal.errors import JournalURLError, NotAJournalError

pytestmark = pytest.mark.anyio


async def test_memory_is_a_url_of_its_own(opened: Open) -> None:
    assert isinstance(await opened("memory:"), MemoryJournal)


async def test_missing_folders_are_made_and_the_file_is_its_owners(tmp_path: Path, opened: Open) -> None:
    path = tmp_path / "a" / "b" / "journal.db"
    journal = await opened(f"sqlite:///{path}")
    await journal.append("c-1", [started()], after=0)
    assert {one.name: stat.S_IMODE(one.stat().st_mode) for one in listed(path.parent)} == {
        "journal.db": 0o600,
        "journal.db-wal": 0o600,
        "journal.db-shm": 0o600,
    }


async def test_a_tilde_is_the_home_folder(tmp_path: Path, opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    journal = await opened("sqlite:///~/in/home.db")
    assert isinstance(journal, SQLJournal)
    assert [one.name for one in listed(tmp_path / "in") if one.suffix == ".db"] == ["home.db"]
    assert journal.url == f"sqlite:///{tmp_path}/in/home.db"


async def test_a_relative_path_is_relative_to_where_the_program_runs(
    tmp_path: Path, opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    await opened("sqlite:///here.db")
    assert "here.db" in {one.name for one in listed(tmp_path)}


async def test_postgresql_may_be_written_the_short_way(postgres_database: str, opened: Open) -> None:
    for scheme in ("postgresql", "postgres", "postgresql+psycopg"):
        await opened(postgres_database.replace("postgresql+psycopg", scheme))


async def test_an_up_to_date_journal_is_opened_without_loading_alembic(database_url: str) -> None:
    first = await open_journal(database_url)
    await first.append("c-1", one_turn(), after=0)
    await first.aclose()
    program = (
        "import anyio, json, sys\n"
        "from turnkeeper.journal import open_journal\n"
        "light = sorted(sys.modules)\n"
        "async def main():\n"
        "    journal = await open_journal(sys.argv[1])\n"
        "    events = len(await journal.read('c-1'))\n"
        "    await journal.aclose()\n"
        "    print(json.dumps([light, events, sorted(sys.modules)]))\n"
        "anyio.run(main)\n"
    )
    done = await anyio.run_process([sys.executable, "-W", "error", "-c", program, database_url])
    light, events, loaded = json.loads(done.stdout)
    assert events == 9
    assert not {"sqlalchemy", "alembic", "psycopg", "sqlite3"} & set(light)
    assert "sqlalchemy" in loaded
    assert "alembic" not in loaded


@pytest.mark.parametrize(
    ("url", "hint"),
    [
        ("desk.db", "Did you mean sqlite:///desk.db"),
        ("/var/lib/desk.db", "Did you mean sqlite:////var/lib/desk.db"),
        ("~/desk.db", "Did you mean sqlite:///~/desk.db"),
        ("", "A journal has a URL"),
        ("memory", "memory: to keep nothing"),
        ("sqlite:desk.db", "sqlite:///turnkeeper.db for a file"),
        ("sqlite://", "names no file"),
        ("sqlite:///:memory:", "use memory:"),
        ("sqlite://desk.db", "A relative path has three slashes"),
        ("sqlite:///{tmp}/x.db?mode=ro", "option 'mode'"),
        ("sqlite:///{tmp}/x.db?timeout=soon", "timeout that is no number"),
        ("mysql://u:geheim@host/db", "can't be kept in mysql"),
        ("sqlite+aiosqlite:///x.db", "can't be kept in sqlite\\+aiosqlite"),
        ("http://example.org/", "can't be kept in http"),
        ("://", "not the URL of a journal"),
        ("postgres:geheim@host/db", "A journal has a URL"),
        ("postgresql://u:geheim@host:port/db", "not the URL of a journal"),
    ],
)
async def test_what_is_no_url_of_a_journal_is_refused_with_a_hint(tmp_path: Path, url: str, hint: str) -> None:
    with pytest.raises(JournalURLError, match=hint) as refused:
        await open_journal(url.format(tmp=tmp_path))
    assert "geheim" not in str(refused.value)
    assert listed(tmp_path) == []


@pytest.mark.parametrize(
    "url",
    [
        "sqlite:///{tmp}/a/conversations-\udcff.db",
        "sqlite:///~/\udce4.db",
        "sqlite:///file:{tmp}/\udcff.db?uri=true",
        "postgresql+psycopg://u:geheim@localhost/\udcff",
        "conversations-\udcff.db",
    ],
)
async def test_bytes_that_are_no_text_are_refused_and_nothing_is_made(tmp_path: Path, url: str) -> None:
    """Such a URL comes from a command line: https://docs.python.org/3/glossary.html#term-filesystem-encoding"""
    with pytest.raises(JournalURLError) as refused:
        await open_journal(url.format(tmp=tmp_path))
    assert str(refused.value).isprintable()
    assert "geheim" not in str(refused.value)
    assert listed(tmp_path) == []


async def test_a_home_folder_whose_name_is_no_text_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", f"{tmp_path}/\udcff")
    with pytest.raises(JournalURLError, match="URL holds bytes that are no UTF-8 text"):
        await open_journal("sqlite:///~/in/home.db")
    assert listed(tmp_path) == []


@pytest.mark.parametrize("seconds", ["0", "-5", "inf", "nan", "1e300", "0.5"])
async def test_any_number_of_seconds_is_a_timeout(tmp_path: Path, opened: Open, seconds: str) -> None:
    journal = await opened(f"sqlite:///{tmp_path}/journal.db?timeout={seconds}")
    assert await journal.append("c-1", [started()], after=0) == 1


async def test_a_file_of_another_kind_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "letter.txt"
    write(path, "Sehr geehrte Damen und Herren,\n" * 100)
    with pytest.raises(NotAJournalError, match=r"letter\.txt.*not a SQLite database"):
        await open_journal(f"sqlite:///{path}")
    assert [one.name for one in listed(tmp_path)] == ["letter.txt"]
    assert read(path) == "Sehr geehrte Damen und Herren,\n" * 100


async def test_a_folder_is_not_a_journal(tmp_path: Path) -> None:
    with pytest.raises(NotAJournalError, match="can't be opened"):
        await open_journal(f"sqlite:///{tmp_path}")


async def test_a_file_in_place_of_a_folder_is_told(tmp_path: Path) -> None:
    write(tmp_path / "file", "")
    with pytest.raises(NotAJournalError, match="can't be opened"):
        await open_journal(f"sqlite:///{tmp_path}/file/journal.db")


async def test_tables_of_another_program_are_not_touched(database_url: str) -> None:
    with engine_of(database_url).begin() as connection:
        connection.exec_driver_sql("CREATE TABLE turnkeeper_events (what TEXT)")
        connection.exec_driver_sql("INSERT INTO turnkeeper_events VALUES ('mine')")
    with pytest.raises(NotAJournalError, match="has a table turnkeeper_events that is not a journal's"):
        await open_journal(database_url)
    with engine_of(database_url).begin() as connection:
        assert sa.inspect(connection).get_table_names() == ["turnkeeper_events"]
        assert connection.exec_driver_sql("SELECT what FROM turnkeeper_events").scalar_one() == "mine"


async def test_a_journal_lives_in_one_database_with_an_applications_tables(database_url: str, opened: Open) -> None:
    with engine_of(database_url).begin() as connection:
        for name in ("events", "conversations", "alembic_version"):
            connection.exec_driver_sql(f"CREATE TABLE {name} (id INTEGER)")
    journal = await opened(database_url)
    await journal.append("c-1", one_turn(), after=0)
    with engine_of(database_url).begin() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM events").scalar_one() == 0


async def test_a_journal_of_a_newer_version_is_refused_and_left_as_it_is(database_url: str, opened: Open) -> None:
    journal = await opened(database_url)
    await journal.append("c-1", one_turn(), after=0)
    await journal.aclose()
    with engine_of(database_url).begin() as connection:
        connection.exec_driver_sql("UPDATE turnkeeper_version SET version_num = '0999'")
    with pytest.raises(JournalVersionError, match=r"version '0999'.*Upgrade Turnkeeper") as refused:
        await open_journal(database_url)
    assert str(sa.make_url(database_url).password) not in str(refused.value)
    with engine_of(database_url).begin() as connection:
        assert connection.exec_driver_sql("SELECT version_num FROM turnkeeper_version").scalar_one() == "0999"
        assert connection.exec_driver_sql("SELECT count(*) FROM turnkeeper_events").scalar_one() == 9


async def test_a_journal_without_its_tables_is_told_when_it_is_used(database_url: str, opened: Open) -> None:
    journal = await opened(database_url)
    with engine_of(database_url).begin() as connection:
        connection.exec_driver_sql("DROP TABLE turnkeeper_events")
    with pytest.raises(NotAJournalError, match="tables are not there"):
        await journal.append("c-1", one_turn(), after=0)


async def test_a_closed_journal_says_so(database_url: str, opened: Open) -> None:
    journal = await opened(database_url)
    await journal.aclose()
    await journal.aclose()
    with pytest.raises(JournalError, match="could not read conversation 'c-1': it is closed"):
        await journal.read("c-1")


async def test_the_url_of_a_journal_is_shown_without_its_password(postgres_database: str, opened: Open) -> None:
    journal = await opened(postgres_database)
    assert isinstance(journal, SQLJournal)
    assert journal.url.startswith("postgresql://turnkeeper:***@127.0.0.1:")


def listed(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


def write(path: Path, text: str) -> None:
    path.write_text(text, "utf-8")


def read(path: Path) -> str:
    return path.read_text("utf-8")


def engine_of(url: str) -> sa.Engine:
    """An engine that keeps nothing open."""
    return sa.create_engine(url, poolclass=sa.pool.NullPool)


def test_opening_at_the_same_time_from_many_processes_makes_one_journal(database_url: str) -> None:
    program = (
        "import anyio, os, sys\n"
        "from turnkeeper.journal import open_journal\n"
        "from turnkeeper.core.events import ConversationStarted\n"
        "import sqlalchemy, turnkeeper.journal.sql\n"
        "async def main():\n"
        "    print('ready', flush=True)\n"
        "    sys.stdin.readline()\n"
        "    journal = await open_journal(sys.argv[1])\n"
        "    await journal.append(f'c-{os.getpid()}', [ConversationStarted()], after=0)\n"
        "    await journal.aclose()\n"
        "anyio.run(main)\n"
    )
    run = [sys.executable, "-c", program, database_url]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    started_ones = [subprocess.Popen(run, env=dict(os.environ), **pipes) for _ in range(5)]  # type: ignore[call-overload]
    for process in started_ones:
        assert process.stdout.readline() == "ready\n"
    for process in started_ones:
        process.stdin.write("go\n")
        process.stdin.flush()
    ends = [(process.communicate(timeout=60)[1], process.returncode) for process in started_ones]
    assert ends == [("", 0)] * 5
    with engine_of(database_url).begin() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM turnkeeper_conversations").scalar_one() == 5
        assert connection.exec_driver_sql("SELECT count(*) FROM turnkeeper_version").scalar_one() == 1
