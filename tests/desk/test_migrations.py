"""The tables: that migrations and metadata agree, on both databases, and which versions are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from tests.desk.test_concurrency import at_once
from tests.desk.test_database import statement
from turnkeeper import desk
from turnkeeper.desk import schema


def made_by_migrations(url: str) -> sa.Engine:
    desk.open_database(url, seed=False).close()
    return sa.create_engine(url, poolclass=sa.pool.NullPool)


def described(engine: sa.Engine) -> dict[str, Any]:
    """All that the database knows of the desk's tables, in an order that doesn't matter."""
    inspector = sa.inspect(engine)
    return {
        name: {
            "columns": [{**column, "type": repr(column["type"])} for column in inspector.get_columns(name)],
            "primary key": inspector.get_pk_constraint(name),
            "foreign keys": inspector.get_foreign_keys(name),
            "unique": sorted(inspector.get_unique_constraints(name), key=lambda one: str(one["name"])),
            "checks": sorted([(one["name"], one["sqltext"]) for one in inspector.get_check_constraints(name)], key=str),
            "indexes": sorted(inspector.get_indexes(name), key=lambda one: str(one["name"])),
        }
        for name in inspector.get_table_names()
        if name != schema.VERSION_TABLE
    }


def test_alembic_finds_no_difference_between_migrations_and_metadata(url: str) -> None:
    with made_by_migrations(url).connect() as connection:
        context = MigrationContext.configure(
            connection, opts={"version_table": schema.VERSION_TABLE, "compare_type": True}
        )
        assert compare_metadata(context, schema.metadata) == []


def test_the_database_sees_no_difference_either(url: str) -> None:
    """Alembic doesn't compare everything (no CHECK, for one), so the tables are made in both ways and looked at."""
    engine = made_by_migrations(url)
    migrated = described(engine)
    with engine.begin() as connection:
        connection.execute(sa.text(f"DROP TABLE {schema.VERSION_TABLE}"))
        schema.metadata.drop_all(connection)
        schema.metadata.create_all(connection)
    assert set(migrated) == set(schema.metadata.tables)
    assert described(engine) == migrated


def test_the_list_of_versions_is_the_chain_of_revisions() -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(desk.__file__).parent / "migrations"))
    chain = ScriptDirectory.from_config(config).walk_revisions()
    assert [revision.revision for revision in chain] == list(reversed(schema.VERSIONS))


def test_tables_of_a_newer_version_are_refused_and_left_alone(url: str) -> None:
    desk.open_database(url).close()
    statement(url, f"UPDATE {schema.VERSION_TABLE} SET version_num = '9999'")
    with pytest.raises(desk.DeskVersionError, match=r"version '9999'; this Turnkeeper knows '\d+' and older\. Upgrade"):
        desk.open_database(url)
    statement(url, f"UPDATE {schema.VERSION_TABLE} SET version_num = '{next(reversed(schema.VERSIONS))}'")
    with desk.open_database(url) as database:
        assert len(database.audit()) == 1


def test_the_desk_shares_a_database_with_others(url: str) -> None:
    statement(
        url,
        "CREATE TABLE alembic_version (version_num TEXT)",
        "INSERT INTO alembic_version VALUES ('somebody else')",
        "CREATE TABLE orders (id TEXT)",
    )
    desk.open_database(url).close()
    tables = set(sa.inspect(made_by_migrations(url)).get_table_names())
    assert tables == {"alembic_version", "orders", "desk_version", *schema.metadata.tables}


def test_a_migration_that_fails_leaves_nothing_behind(url: str) -> None:
    """The database has a table of the same name as one of the desk's, so the migration can't go through."""
    statement(url, "CREATE TABLE desk_audit (anything TEXT)")
    with pytest.raises(desk.DeskDatabaseError, match="already exists"):
        desk.open_database(url)
    assert sa.inspect(sa.create_engine(url, poolclass=sa.pool.NullPool)).get_table_names() == ["desk_audit"]


def test_threads_that_open_a_new_desk_at_once_make_one(url: str) -> None:
    def look() -> int:
        with desk.open_database(url) as database:
            return len(database.audit())

    assert at_once(look, look, look) == [1, 1, 1]


def test_an_open_desk_of_the_right_version_loads_no_alembic(tmp_path: Path) -> None:
    import subprocess
    import sys

    url = f"sqlite:///{tmp_path}/desk.db"
    desk.open_database(url).close()
    program = "import sys; from turnkeeper import desk; desk.open_database(sys.argv[1]).close()"
    program += "; print('alembic' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program, url], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "False\n"


def test_a_desk_of_the_first_version_keeps_its_records(url: str) -> None:
    engine = sa.create_engine(url, poolclass=sa.pool.NullPool)
    config = Config()
    config.set_main_option("script_location", str(Path(desk.__file__).parent / "migrations"))
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")
        customer = "'1', 'Лена', 'l@x.example', 'l@x.example', '555-0100', '5550100', 'lena', 'lena'"
        connection.exec_driver_sql(f"INSERT INTO desk_customers VALUES ({customer})")
        connection.exec_driver_sql("INSERT INTO desk_orders VALUES ('7', '1', 'Cable', 1, 999, 'Processing')")
    with desk.open_database(url) as database:
        order = database.order("7")
        with database.reading() as repository:
            found = repository.customer("1")
    assert order is not None
    assert found is not None
    assert (order.note, found.name, found.address) == ("", "Лена", "")
