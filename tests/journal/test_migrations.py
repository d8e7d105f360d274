"""The tables that are made at once are those that the migrations make, and older journals become new ones."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

import turnkeeper.journal
from tests.journal.samples import ANA, NOON, one_turn, said
from turnkeeper.journal import SQLJournal, open_journal, schema


def config_for(connection: sa.Connection | None) -> Config:
    config = Config()
    folder = Path(turnkeeper.journal.__file__).parent / "migrations"
    config.set_main_option("script_location", str(folder))
    config.attributes["connection"] = connection
    return config


def engine_of(url: str) -> sa.Engine:
    return sa.create_engine(url, poolclass=sa.pool.NullPool)


def migrate(url: str, version: str) -> None:
    with engine_of(url).begin() as connection:
        command.upgrade(config_for(connection), version)


def definitions(connection: sa.Connection) -> list[tuple[str, ...]]:
    """What the database itself says of the journal's tables, in its own words."""
    if connection.dialect.name == "sqlite":
        query = "SELECT name, sql FROM sqlite_master WHERE name LIKE '%turnkeeper%' ORDER BY name"
        return [(row[0], " ".join(str(row[1]).replace("\t", "").split())) for row in connection.exec_driver_sql(query)]
    queries = (
        "SELECT table_name, column_name, data_type, is_nullable, collation_name, is_identity, column_default"
        " FROM information_schema.columns WHERE table_schema = 'public' ORDER BY table_name, ordinal_position",
        "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY indexname",
        "SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint"
        " WHERE connamespace = 'public'::regnamespace ORDER BY conname",
    )
    return [tuple(map(str, row)) for query in queries for row in connection.exec_driver_sql(query)]


def test_the_versions_are_the_revisions() -> None:
    revisions = [one.revision for one in ScriptDirectory.from_config(config_for(None)).walk_revisions()]
    assert list(schema.VERSIONS) == revisions[::-1]


def test_the_tables_are_the_sum_of_the_migrations(database_url: str) -> None:
    migrate(database_url, "head")
    with engine_of(database_url).connect() as connection:
        options = {"version_table": schema.VERSION_TABLE, "compare_type": True}
        context = MigrationContext.configure(connection, opts=options)
        assert compare_metadata(context, schema.metadata) == []


def test_tables_made_at_once_are_those_of_the_migrations_to_the_letter(database_url: str) -> None:
    migrate(database_url, "head")
    with engine_of(database_url).begin() as connection:
        migrated = definitions(connection)
        for name in sa.inspect(connection).get_table_names():
            cascade = " CASCADE" if connection.dialect.name == "postgresql" else ""
            connection.exec_driver_sql(f"DROP TABLE {name}{cascade}")
    assert len(migrated) >= 8
    journal = SQLJournal.open(database_url)
    journal.close()
    with engine_of(database_url).connect() as connection:
        assert definitions(connection) == migrated


@pytest.mark.anyio
@pytest.mark.parametrize("version", list(schema.VERSIONS)[:-1])
async def test_an_older_journal_is_brought_up_to_date_with_all_it_holds(
    database_url: str, tmp_path: Path, version: str
) -> None:
    migrate(database_url, version)
    new = f"sqlite:///{tmp_path}/new.db"
    filled = SQLJournal.open(new)  # an older Turnkeeper's rows, as the present one writes them
    await filled.append("c-1", one_turn(), after=0)
    await filled.aclose()
    with engine_of(new).connect() as source, engine_of(database_url).begin() as target:
        for table in ("turnkeeper_conversations", "turnkeeper_events"):
            found = source.exec_driver_sql(f"SELECT * FROM {table}")
            names = list(found.keys())
            insert = f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join(f':{name}' for name in names)})"
            target.execute(sa.text(insert), [dict(row) for row in found.mappings()])
    journal = await open_journal(database_url)
    assert await journal.read("c-1") == one_turn()
    assert await journal.verify("c-1") == []
    assert [(one.id, one.turns, one.events) for one in await journal.conversations()] == [("c-1", 1, len(one_turn()))]
    await journal.append("c-2", one_turn(), after=0)
    assert [one.events for one in await journal.erase("c-2", by=ANA, now=NOON)] == [9]
    await journal.aclose()
    with engine_of(database_url).connect() as connection:
        newest = connection.exec_driver_sql("SELECT version_num FROM turnkeeper_version").scalar_one()
    assert newest == list(schema.VERSIONS)[-1]


def test_openers_that_find_an_older_journal_do_not_migrate_it_twice(database_url: str) -> None:
    migrate(database_url, "0001")
    problems: list[BaseException] = []

    def open_it() -> None:
        try:
            SQLJournal.open(database_url).close()
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=open_it) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert problems == []


@pytest.mark.anyio
async def test_a_file_of_the_first_version_is_read_to_the_letter(tmp_path: Path) -> None:
    """It is stored as SQL, so that no change of the tables, or of how events are written, changes it too."""
    path = tmp_path / "journal.db"
    dump = Path(__file__).with_name("journal_0001.sql").read_text("utf-8")
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(dump)
    journal = await open_journal(f"sqlite:///{path}")
    assert await journal.read("c-1") == one_turn()
    assert await journal.verify("c-1") == []
    await journal.append("c-1", [said("Ещё вопрос")], after=9)
    assert [event.type for event in await journal.read("c-1", after=9)] == ["turn_started"]
    await journal.aclose()
