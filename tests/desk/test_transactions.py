"""Changes inside the journal's transaction: kept with the call's result, refused with a trace, or undone."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

import turnkeeper as tk
from turnkeeper import desk
from turnkeeper.desk.domain import OrderStatus
from turnkeeper.desk.record import Actor
from turnkeeper.testing import MessagesAPI, call, reply, script

pytestmark = pytest.mark.anyio

ANA = tk.Principal("staff", "ana")


async def answers(
    database: desk.Desk, *calls: dict[str, Any], principal: tk.Principal = ANA, journal: str | None = None
) -> list[tuple[bool, str]]:
    """Run the calls as one reply's; what the model was told of each: whether it is an error, and the text."""
    api = MessagesAPI(script(reply(*calls), "Done."))
    async with desk.agent(database, client=api).open(journal or database.journal_url) as keeper:
        found = await (await keeper.conversation("c-1", principal=principal)).send("Please.")
        assert found.status is tk.TurnStatus.COMPLETED, found.reason
        assert await keeper.journal.verify("c-1") == []
    api.assert_all_accepted()
    body = api.requests[1].body
    assert body is not None
    return [(bool(block.get("is_error")), block["content"]) for block in body["messages"][-1]["content"]]


def trail(database: desk.Desk) -> list[tuple[str, str, str]]:
    return [(line.action, line.subject, line.outcome) for line in database.audit()[1:]]


async def test_a_refusal_is_an_error_for_the_model_and_a_line_in_the_audit(database: desk.Desk) -> None:
    told = await answers(
        database,
        call("cancel_order", {"order_id": "24601"}),
        call("cancel_order", {"order_id": "99999"}),
        call("update_contact", {"customer_id": "2837622", "email": "john@gmail.com"}),
        call("update_contact", {"customer_id": "2837622", "phone": "пять"}),
        call("update_contact", {"customer_id": "2837622", "email": "прия@почта.рф"}),
    )
    assert told[:4] == [
        (True, "Order 24601 is Shipped; only orders that are Processing can be cancelled. Nothing was changed."),
        (True, "There is no order with that id. Check the number with the user, or look the customer's orders up."),
        (True, "That e-mail address belongs to another customer. Nothing was changed."),
        (
            True,
            "A phone number has digits, and maybe a + before them, blanks, dashes or brackets. Nothing was changed.",
        ),
    ]
    assert (told[4][0], '"new":"прия@почта.рф"' in told[4][1]) == (False, True)
    assert trail(database) == [
        ("cancel_order", "order:24601", "refused"),
        ("cancel_order", "order:99999", "not_found"),
        ("update_contact", "customer:2837622", "refused"),
        ("update_contact", "customer:2837622", "refused"),
        ("update_contact", "customer:2837622", "changed"),
    ]


async def test_whoever_has_no_right_leaves_a_line_too(database: desk.Desk) -> None:
    stranger = tk.Principal("customer", "1213210", level="signed-in")
    told = await answers(database, call("cancel_order", {"order_id": "13579"}), principal=stranger)
    assert told == [(True, "This is for TechNova's staff only. Nothing was looked up or changed.")]
    (line,) = database.audit()[1:]
    assert (line.principal_kind, line.principal_id, line.outcome) == ("customer", "1213210", "denied")
    assert (line.conversation_id, line.call_id is not None) == ("c-1", True)


async def test_what_fails_inside_changes_nothing_and_leaves_no_line(database: desk.Desk) -> None:
    with database.transaction(Actor(kind="system", id="test")) as repository:
        repository._connection.exec_driver_sql("ALTER TABLE desk_audit RENAME COLUMN detail TO details")
    ((is_error, text),) = await answers(database, call("cancel_order", {"order_id": "13579"}))
    assert is_error
    assert text.startswith("The tool failed (")
    assert "Part of its work" not in text
    found = database.order("13579")
    assert found is not None
    assert found.status is OrderStatus.PROCESSING


async def test_lookups_of_the_same_reply_run_beside_the_changes(database: desk.Desk) -> None:
    """Each lookup writes its line in the audit, on connections of the desk's own: no one waits for ever."""
    looks = [call("get_customer_orders", {"customer_id": "1213210"}) for _ in range(5)]
    told = await answers(
        database,
        *looks,
        call("cancel_order", {"order_id": "13579"}),
        *looks,
        call("cancel_order", {"order_id": "28164"}),
    )
    assert [is_error for is_error, _ in told] == [False] * 12
    assert sorted({(line.action, line.outcome) for line in database.audit()[1:]}) == [
        ("cancel_order", "cancelled"),
        ("get_customer_orders", "found"),
    ]
    assert len(database.audit()) == 13


async def test_a_turn_without_a_database_is_refused_before_it_starts(database: desk.Desk) -> None:
    api = MessagesAPI(script("never"))
    with pytest.raises(tk.errors.ConfigurationError, match="cancel_order, update_contact: a transactional tool"):
        await desk.agent(database, client=api, principal=ANA).run("Cancel 13579.")
    assert api.requests == []


async def test_a_journal_elsewhere_changes_no_other_desk(
    database: desk.Desk, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    elsewhere = f"sqlite:///{tmp_path}/other.db"
    with desk.open_database(elsewhere) as other, caplog.at_level(logging.ERROR):
        ((is_error, text),) = await answers(database, call("cancel_order", {"order_id": "13579"}), journal=elsewhere)
        assert (is_error, "DeskDatabaseError" in text, "other.db" in text) == (True, True, False)
        for one in (database, other):
            found = one.order("13579")
            assert found is not None
            assert found.status is OrderStatus.PROCESSING
            assert len(one.audit()) == 1
    assert "open it there: agent.open(desk.journal_url)" in caplog.text


async def test_the_same_database_under_another_spelling_is_the_same(url: str, tmp_path: Path) -> None:
    if url.startswith("sqlite"):
        (tmp_path / "link").symlink_to(tmp_path)
        again = f"sqlite:///{tmp_path}/link/desk.db"
    else:
        again = sa.make_url(url).set(host="localhost").render_as_string(hide_password=False)
    with desk.open_database(url) as database:
        ((is_error, _),) = await answers(database, call("cancel_order", {"order_id": "13579"}), journal=again)
        assert not is_error


async def test_a_relative_path_is_the_same_file_wherever_the_program_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "дом"))
    monkeypatch.chdir(tmp_path)
    with desk.open_database("sqlite:///here/my desk.db") as database, desk.open_database("sqlite:///~/d.db") as home:
        (tmp_path / "there").mkdir()
        monkeypatch.chdir(tmp_path / "there")
        for one in (database, home):
            ((is_error, _),) = await answers(one, call("cancel_order", {"order_id": "13579"}))
            assert not is_error
    assert (tmp_path / "here" / "my desk.db").exists()
    assert (tmp_path / "дом" / "d.db").exists()
    assert list((tmp_path / "there").iterdir()) == []


def test_the_url_for_the_journal_opens_the_database_and_its_repr_shows_no_password(postgres_database: str) -> None:
    with desk.open_database(postgres_database) as database:
        given = database.journal_url
        assert given == sa.make_url(postgres_database).render_as_string(hide_password=False)
        password = sa.make_url(postgres_database).password
        assert password
        for shown in (repr(given), repr([given]), repr(database), database.url):
            assert password not in shown


def test_a_desk_in_memory_says_that_it_can_keep_no_journal() -> None:
    with desk.open_database("sqlite://") as database, pytest.raises(desk.DeskDatabaseError, match="in memory"):
        _ = database.journal_url


async def test_a_desk_in_memory_changes_nothing_through_a_connection_to_anywhere(tmp_path: Path) -> None:
    with desk.open_database("sqlite://") as database:
        ((is_error, _),) = await answers(
            database, call("cancel_order", {"order_id": "13579"}), journal=f"sqlite:///{tmp_path}/j.db"
        )
        assert is_error


def test_the_desks_own_look_at_an_order_leaves_no_line_and_waits_for_no_writer(database: desk.Desk) -> None:
    with database.transaction(Actor(kind="staff", id="ana")) as repository:
        repository.cancel_order("13579")
        found = database.order("#13579 ")
        assert found is not None
        assert found.status is OrderStatus.PROCESSING  # what the other has not committed yet
    assert database.order("nothing \ud800") is None
    assert [line.action for line in database.audit()] == ["seed", "cancel_order"]
