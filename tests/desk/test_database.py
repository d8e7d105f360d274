"""Opening a desk: what is made, what is refused, and that no error tells the password."""

from __future__ import annotations

import logging
import socket
import sqlite3
import stat
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa

from turnkeeper import desk
from turnkeeper.desk.record import SYSTEM, Actor


def refusal_of(url: str) -> str:
    with pytest.raises(desk.DeskDatabaseError) as caught:
        desk.open_database(url)
    assert caught.value.__cause__ is None  # a traceback would show the driver's own words
    assert caught.value.__context__ is None or caught.value.__suppress_context__
    return str(caught.value)


def statement(url: str, *statements: str) -> None:
    engine = sa.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=sa.pool.NullPool)
    with engine.connect() as connection:
        for one in statements:
            connection.exec_driver_sql(one)


def test_a_new_desk_has_the_lessons_records_and_the_audit_says_so(database: desk.Desk) -> None:
    with database.transaction(SYSTEM) as repository:
        assert not repository.is_empty()
    assert [(e.principal_kind, e.action, e.outcome, e.detail) for e in database.audit()] == [
        ("system", "seed", "seeded", "10 customers, 13 orders")
    ]


def test_a_desk_that_is_opened_again_keeps_what_was_done(url: str, ana: Actor) -> None:
    with desk.open_database(url) as database, database.transaction(ana) as repository:
        repository.cancel_order("13579")
    with desk.open_database(url) as database:
        assert [entry.action for entry in database.audit()] == ["seed", "cancel_order"]


def test_a_desk_can_stay_empty_until_it_is_opened_with_records(url: str) -> None:
    with desk.open_database(url, seed=False) as database, database.transaction(SYSTEM) as repository:
        assert repository.is_empty()
    with desk.open_database(url) as database, database.transaction(SYSTEM) as repository:
        assert not repository.is_empty()


def test_the_folder_is_made_and_the_file_is_its_owners_only(tmp_path: Path) -> None:
    path = tmp_path / "новая папка" / "深い" / "desk.db"
    with desk.open_database(f"sqlite:///{path}") as database:
        assert database.url == f"sqlite:///{path}"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert {one.name for one in path.parent.iterdir()} == {"desk.db", "desk.db-wal", "desk.db-shm"}
    assert {one.name for one in path.parent.iterdir()} == {"desk.db"}


def test_a_relative_file_and_the_default_are_in_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    desk.open_database().close()
    desk.open_database("sqlite:///other.db").close()
    assert sorted(one.name for one in tmp_path.iterdir()) == ["desk.db", "other.db"]


def test_a_desk_in_memory_serves_many_threads(ana: Actor) -> None:
    from tests.desk.test_concurrency import at_once

    with desk.open_database("sqlite://") as database:

        def look() -> str:
            with database.transaction(ana) as repository:
                return repr(repository.get_order_by_id("97531"))

        assert len(set(at_once(*[look] * 4))) == 1
        assert len(database.audit()) == 1 + 4


def test_sqlite_waits_for_others_and_keeps_its_promises(tmp_path: Path, ana: Actor) -> None:
    with desk.open_database(f"sqlite:///{tmp_path}/desk.db") as database, database.transaction(ana) as repository:
        ask = repository._connection.exec_driver_sql
        assert ask("PRAGMA journal_mode").scalar() == "wal"
        assert ask("PRAGMA foreign_keys").scalar() == 1
        assert ask("PRAGMA busy_timeout").scalar() == 30_000


@pytest.mark.parametrize("column, value", [("status", "'Lost'"), ("quantity", "0"), ("price_cents", "-1")])  # noqa: PT006 - as in SQL
def test_the_database_refuses_what_no_order_can_be(url: str, column: str, value: str) -> None:
    desk.open_database(url).close()
    with pytest.raises(sa.exc.IntegrityError):
        statement(url, f"UPDATE desk_orders SET {column} = {value} WHERE id = '13579'")


def test_an_order_of_nobody_is_refused(database: desk.Desk, ana: Actor) -> None:
    with database.transaction(ana) as repository:
        change = sa.text("UPDATE desk_orders SET customer_id = '0' WHERE id = '13579'")
        with pytest.raises(sa.exc.IntegrityError):
            repository._connection.execute(change)


@pytest.mark.parametrize(
    "url", ["", "desk.db", "/var/lib/desk.db", "postgresql//a:s3cret@h/x", "postgresql://a:s3cret@h:port/x", "://"]
)
def test_what_is_no_url_is_refused_without_repeating_it(url: str) -> None:
    text = refusal_of(url)
    assert text.startswith("That is not the URL of a database. A file is sqlite:///desk.db;")
    assert "s3cret" not in text


@pytest.mark.parametrize("name", ["mysql", "oracle", "sqlite+aiosqlite", "mssql+pyodbc"])
def test_other_databases_are_refused_by_name(name: str) -> None:
    text = refusal_of(f"{name}://a:s3cret@h/x")
    assert text == f"The desk works on sqlite and postgresql (with psycopg), not on {name}."


def test_a_file_that_is_no_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "desk.db"
    path.write_text("Dear diary, " * 200)
    assert refusal_of(f"sqlite:///{path}") == (
        f"sqlite:///{path} is not a SQLite database; move the file away, or name another one"
    )
    assert path.read_text() == "Dear diary, " * 200


def test_a_folder_is_no_database(tmp_path: Path) -> None:
    assert refusal_of(f"sqlite:///{tmp_path}") == f"sqlite:///{tmp_path} can't be opened: Is a directory"


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "desk.db"
    desk.open_database(f"sqlite:///{path}").close()
    content = bytearray(path.read_bytes())
    content[100 : len(content) // 2] = b"\xff" * (len(content) // 2 - 100)
    path.write_bytes(content)
    assert "damaged" in refusal_of(f"sqlite:///{path}")


def test_a_read_only_file_is_refused(tmp_path: Path) -> None:
    desk.open_database(f"sqlite:///{tmp_path}/desk.db").close()
    text = refusal_of(f"sqlite:///file:{tmp_path}/desk.db?mode=ro&uri=true")
    assert text.endswith("is read-only; the desk needs a database that it can write to")


def test_a_file_that_another_program_holds_is_refused_after_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules["turnkeeper.desk.database"], "_BUSY_SECONDS", 0.05)
    holder = sqlite3.connect(tmp_path / "desk.db", isolation_level=None)
    try:
        holder.execute("BEGIN EXCLUSIVE")
        assert "is in use by another program" in refusal_of(f"sqlite:///{tmp_path}/desk.db")
    finally:
        holder.close()


def test_a_server_that_cannot_be_reached_is_named_without_the_password(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound but not listening: connections are refused
        port = taken.getsockname()[1]
        for url in (
            f"postgresql://ana:s3cret@127.0.0.1:{port}/shop",
            f"postgres://ana:s3cret@127.0.0.1:{port}/shop?application_name=desk",
            f"postgresql+psycopg://ana@127.0.0.1:{port}/shop?password=s3cret&sslpassword=s3cret",
        ):
            text = refusal_of(url)
            assert f"127.0.0.1:{port}/shop" in text
            assert " can't be reached: " in text
            assert "Connection refused" in text
            assert "s3cret" not in text
    assert "s3cret" not in caplog.text


def test_an_option_that_the_driver_does_not_know_is_refused() -> None:
    text = refusal_of("postgresql://ana:s3cret@127.0.0.1:1/shop?sslmode=s3cret-no&colour=s3cret")
    assert "s3cret@" not in text
    assert "colour=s3cret" not in text


def test_a_wrong_password_is_said_but_not_shown(postgres_url: str) -> None:
    url = sa.make_url(postgres_url).set(password="s3cret")
    text = refusal_of(url.render_as_string(hide_password=False))
    assert text.endswith("refused the user name or the password")
    assert "s3cret" not in text


def test_a_missing_database_is_said(postgres_url: str) -> None:
    url = sa.make_url(postgres_url).set(database="nowhere")
    text = refusal_of(url.render_as_string(hide_password=False))
    assert "has no such database or user; create it first" in text


def test_a_read_only_server_is_refused(postgres_database: str) -> None:
    text = refusal_of(f"{postgres_database}?options=-c%20default_transaction_read_only%3Don")
    assert text.endswith("is read-only; the desk needs a database that it can write to")


def test_a_desk_without_one_of_its_tables_is_refused(url: str) -> None:
    desk.open_database(url).close()
    statement(url, "DROP TABLE desk_orders")
    assert refusal_of(url).endswith("lacks some of the desk's tables; restore it from a copy, or name another one")


def test_a_user_without_rights_is_told(postgres_database: str) -> None:
    user = sa.make_url(postgres_database).database
    statement(postgres_database, f"CREATE ROLE {user} LOGIN PASSWORD 's3cret'")
    try:
        url = sa.make_url(postgres_database).set(username=user, password="s3cret")
        text = refusal_of(url.render_as_string(hide_password=False))
    finally:
        statement(postgres_database, f"DROP ROLE {user}")
    assert "doesn't let this user create or use the desk's tables" in text
    assert "s3cret" not in text


def test_a_server_url_may_be_written_in_three_ways(postgres_database: str) -> None:
    rest = postgres_database.partition("://")[2]
    for scheme in ("postgres", "postgresql", "postgresql+psycopg"):
        with desk.open_database(f"{scheme}://{rest}") as database:
            assert database.url.startswith("postgresql://turnkeeper:***@127.0.0.1:")


def test_a_desk_outlives_the_loss_of_its_connections(postgres_database: str, ana: Actor) -> None:
    with desk.open_database(postgres_database) as database:
        kill = "SELECT pg_terminate_backend(pid, 20000) FROM pg_stat_activity WHERE datname = current_database()"
        statement(postgres_database, f"{kill} AND pid <> pg_backend_pid()")
        with database.transaction(ana) as repository:
            repository.get_order_by_id("97531")
        assert len(database.audit()) == 2


def test_without_the_driver_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    text = refusal_of("postgresql://ana:s3cret@127.0.0.1/shop")
    assert "pip install 'turnkeeper[postgres]'" in text
    assert "s3cret" not in text
