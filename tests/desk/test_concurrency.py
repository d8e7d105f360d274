"""Two at once: in two threads, and in two processes."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import pytest
import sqlalchemy as sa

from turnkeeper import desk
from turnkeeper.desk import Desk
from turnkeeper.desk.domain import Order, OrderStatus, Refusal
from turnkeeper.desk.record import Actor
from turnkeeper.desk.repository import ContactChange

T = TypeVar("T")

CANCEL = """
import sys
from turnkeeper import desk
from turnkeeper.desk.domain import Order
from turnkeeper.desk.record import Actor

url, who = sys.argv[1:]
with desk.open_database(url) as database:
    print("ready", flush=True)
    sys.stdin.readline()
    with database.transaction(Actor(kind="staff", id=who)) as repository:
        answer = repository.cancel_order("13579")
print("cancelled" if isinstance(answer, Order) else answer.text)
"""

TURN = """
import asyncio
import sys
import turnkeeper as tk
from turnkeeper import desk
from turnkeeper.testing import MessagesAPI, call, reply, script

async def turn(url, who):
    api = MessagesAPI(script(reply(call("cancel_order", {"order_id": "13579"})), "Done."))
    with desk.open_database(url) as database:
        async with desk.agent(database, client=api).open(database.journal_url) as keeper:
            conversation = await keeper.conversation("c-" + who, principal=tk.Principal("staff", who))
            print("ready", flush=True)
            await asyncio.to_thread(sys.stdin.readline)
            found = await conversation.send("Cancel 13579.")
    [record] = found.calls
    print(found.status, record.content if record.is_error else "cancelled")

asyncio.run(turn(*sys.argv[1:]))
"""

OPEN = """
import sys
from turnkeeper import desk

print("ready", flush=True)
sys.stdin.readline()
with desk.open_database(sys.argv[1]) as database:
    print(len(database.audit()))
"""

LOST = "Order 13579 is already Cancelled. Nothing was changed."


def at_once(*jobs: Callable[[], T]) -> list[T]:
    """Run the jobs in threads that set off together."""
    barrier = threading.Barrier(len(jobs), timeout=30)

    def job(run: Callable[[], T]) -> T:
        barrier.wait()
        return run()

    with ThreadPoolExecutor(len(jobs)) as pool:
        return list(pool.map(job, jobs, timeout=60))


def in_processes(program: str, *arguments: tuple[str, ...]) -> list[str]:
    """Run the program once per tuple of arguments; all set off when all are ready; what each printed last."""
    running = [
        subprocess.Popen(
            [sys.executable, "-c", program, *given], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for given in arguments
    ]
    try:
        for process in running:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        for process in running:
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.flush()
        return [process.communicate(timeout=60)[0].strip() for process in running]
    finally:
        for process in running:
            process.kill()
            process.communicate()


def until_waiting(url: str, number: int) -> None:
    """Return when that many of the PostgreSQL server's sessions wait for a lock."""
    query = "SELECT count(DISTINCT pid) FROM pg_locks WHERE NOT granted"
    engine = sa.create_engine(url)
    try:
        with engine.connect() as connection:
            for _ in range(3000):
                if connection.exec_driver_sql(query).scalar_one() == number:
                    return
                threading.Event().wait(0.01)
    finally:
        engine.dispose()
    raise AssertionError("nobody waits")


def outcomes(database: Desk, subject: str) -> list[str]:
    return sorted(entry.outcome for entry in database.audit(subject=subject))


@pytest.mark.parametrize("_attempt", range(5))
def test_of_two_cancels_in_two_threads_one_wins(database: Desk, _attempt: int) -> None:
    def cancel(who: str) -> Order | Refusal:
        with database.transaction(Actor(kind="staff", id=who)) as repository:
            return repository.cancel_order("13579")

    answers = at_once(lambda: cancel("ana"), lambda: cancel("ben"))
    won = [answer for answer in answers if isinstance(answer, Order)]
    lost = [answer for answer in answers if isinstance(answer, Refusal)]
    assert [order.status for order in won] == [OrderStatus.CANCELLED]
    assert [refusal.text for refusal in lost] == [LOST]
    assert outcomes(database, "order:13579") == ["cancelled", "refused"]
    assert {entry.principal_id for entry in database.audit(subject="order:13579")} == {"ana", "ben"}


def test_of_two_cancels_in_two_processes_one_wins(url: str) -> None:
    desk.open_database(url).close()
    answers = in_processes(CANCEL, (url, "ana"), (url, "ben"))
    assert sorted(answers) == sorted(["cancelled", LOST])
    with desk.open_database(url) as database:
        assert outcomes(database, "order:13579") == ["cancelled", "refused"]
        assert {entry.principal_id for entry in database.audit(subject="order:13579")} == {"ana", "ben"}


def test_of_two_conversations_in_two_processes_one_cancels_and_the_other_is_told(url: str) -> None:
    desk.open_database(url).close()
    answers = in_processes(TURN, (url, "ana"), (url, "ben"))
    assert sorted(answers) == sorted(["completed cancelled", f"completed {LOST}"])
    with desk.open_database(url) as database:
        lines = database.audit(subject="order:13579")
    assert [line.outcome for line in lines] == ["cancelled", "refused"]
    assert {(line.principal_id, line.conversation_id) for line in lines} == {("ana", "c-ana"), ("ben", "c-ben")}


def test_processes_that_open_a_new_desk_at_once_make_one(url: str) -> None:
    assert in_processes(OPEN, (url,), (url,), (url,)) == ["1", "1", "1"]


@pytest.mark.parametrize("_attempt", range(3))
def test_of_two_customers_who_want_one_address_one_gets_it(database: Desk, ana: Actor, _attempt: int) -> None:
    def change(customer_id: str) -> ContactChange | Refusal:
        with database.transaction(ana) as repository:
            return repository.update_contact(customer_id, email="both@example.com")

    answers = at_once(lambda: change("1213210"), lambda: change("2837622"))
    assert sorted(type(answer).__name__ for answer in answers) == ["ContactChange", "Refusal"]
    assert [one.code for one in answers if isinstance(one, Refusal)] == ["email_taken"]
    assert [entry.outcome for entry in database.audit()].count("refused") == 1


def test_the_second_of_two_waits_for_the_first_to_commit_and_then_loses(postgres_database: str, ana: Actor) -> None:
    """On PostgreSQL both read the old row; the conditional update and the unique key decide when the first commits."""
    ben = Actor(kind="staff", id="ben")

    def cancel() -> Order | Refusal:
        with database.transaction(ben) as repository:
            return repository.cancel_order("13579")

    def change() -> ContactChange | Refusal:
        with database.transaction(ben) as repository:
            return repository.update_contact("2837622", phone="555 0100 200")

    with desk.open_database(postgres_database) as database, ThreadPoolExecutor(2) as pool:
        with database.transaction(ana) as first:
            assert isinstance(first.cancel_order("13579"), Order)
            assert isinstance(first.update_contact("1213210", phone="5550100200"), ContactChange)
            seconds = pool.submit(cancel), pool.submit(change)
            until_waiting(postgres_database, 2)
        answers = [second.result(30) for second in seconds]
        assert [answer.code for answer in answers if isinstance(answer, Refusal)] == ["not_cancellable", "phone_taken"]
        assert [entry.outcome for entry in database.audit()] == ["seeded", "cancelled", "changed", "refused", "refused"]


def test_many_sessions_on_one_file_wait_for_each_other(database: Desk, ana: Actor) -> None:
    """A write at a time, and none is lost. Report B15-sqlite-locked.

    https://github.com/mem0ai/mem0/issues/7196
    """

    def look() -> int:
        for _ in range(10):
            with database.transaction(ana) as repository:
                repository.get_order_by_id("24601")
        return 10

    assert sum(at_once(*[look] * 6)) == 60
    assert len(database.audit(subject="order:24601", limit=1000)) == 60
