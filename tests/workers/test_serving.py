"""A worker: takes what waits, leaves people their time, hands back when it is told to stop, keeps to the limits."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
import sqlalchemy as sa

import turnkeeper as tk
from tests.workers.conftest import Serve, agent_for
from tests.workers.processes import until
from turnkeeper.core.events import TurnStarted
from turnkeeper.errors import ConfigurationError
from turnkeeper.testing import MessagesAPI, call, faults, reply, script
from turnkeeper.workers import Dispatcher, Rate, serve_worker

pytestmark = pytest.mark.anyio

JOHN = tk.Principal("customer", "1213210", "verified")
ANA = tk.Principal("staff", "ana")


async def ends_as(dispatcher: Dispatcher, name: str, status: str | None, turns: int = 1) -> None:
    """Wait until the conversation's last turn has that status."""

    async def it_has() -> bool:
        found = [one for one in await dispatcher.journal.conversations() if one.id == name]
        return bool(found) and (found[0].status, found[0].turns) == (status, turns)

    await until(it_has, f"{name} is {status}", seconds=30)


async def test_posted_messages_are_answered_in_order_under_their_principal(
    dispatcher: Dispatcher, serve: Serve
) -> None:
    seen: list[Any] = []

    @tk.tool(effect="read")
    def whoami(ctx: tk.ToolContext, place: tk.Injected[str]) -> str:
        """Who am I?"""
        seen.append((ctx.principal, place))
        return "you"

    api = MessagesAPI(script(reply(call("whoami", {})), "你好", "再见"))
    agent = agent_for(api, whoami)
    async with serve(agent, inject=lambda name, who: {"place": f"{name} of {who and who.id}"}):
        assert await dispatcher.post("c-1", "кто я?", key="k-1", principal=JOHN) == "queued"
        assert await dispatcher.post("c-1", "bye", key="k-2", principal=JOHN) == "queued"
        assert await dispatcher.post("c-1", "bye", key="k-2", principal=JOHN) == "duplicate"
        await ends_as(dispatcher, "c-1", "completed", turns=2)
    assert seen == [(JOHN, "c-1 of 1213210")]
    begun = [one.key for one in await dispatcher.journal.read("c-1") if isinstance(one, TurnStarted)]
    assert begun == ["k-1", "k-2"]
    api.assert_all_accepted()


async def test_messages_that_nobody_woke_a_worker_for_are_found(dispatcher: Dispatcher, serve: Serve) -> None:
    await dispatcher.journal.enqueue("before", '"hi"', key="k", principal=None, now=1)
    async with serve(agent_for(MessagesAPI(script("1", "2")))):
        await ends_as(dispatcher, "before", "completed")
        await dispatcher.journal.enqueue("after", '"hi"', key="k", principal=None, now=1)
        await ends_as(dispatcher, "after", "completed")


async def test_a_turn_that_waits_for_a_person_takes_no_workers_time_and_goes_on_after_the_decision(
    dispatcher: Dispatcher, serve: Serve
) -> None:
    ran: list[int] = []

    @tk.tool(approval="always")
    def refund(amount: int) -> str:
        """Refund."""
        ran.append(amount)
        return "refunded"

    agent = agent_for(MessagesAPI(script(reply(call("refund", {"amount": 5})), "Refunded.", "Bye.")), refund)
    async with agent.open(dispatcher.journal) as keeper, serve(agent, concurrency=1):
        await dispatcher.post("c", "refund", key="k-1", principal=JOHN)
        await dispatcher.post("c", "bye", key="k-2", principal=JOHN)
        await ends_as(dispatcher, "c", "awaiting_approval")
        (waiting,) = await keeper.approvals.list()
        await keeper.approvals.approve(waiting.id, by=ANA)
        await dispatcher.wake("c")
        await ends_as(dispatcher, "c", "completed", turns=2)
    assert ran == [5]


async def test_what_fails_for_a_moment_is_tried_again_and_told_to_the_log(
    dispatcher: Dispatcher, serve: Serve, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = 0

    def inject(name: str, who: Any) -> dict[str, Any]:
        nonlocal times
        times += 1
        if times == 1:
            raise LookupError("no accounts today: card 4111")
        return {}

    async with serve(agent_for(MessagesAPI(script("Hello."))), inject=inject):
        await dispatcher.post("c", "hi", key="k")
        await ends_as(dispatcher, "c", "completed")
    assert times == 2
    assert "conversation c could not go on; it is tried again" in caplog.messages
    engine = sa.create_engine(dispatcher.queue.url, poolclass=sa.pool.NullPool)
    with engine.connect() as connection:
        rows = connection.exec_driver_sql("SELECT output, error FROM turnkeeper_workers.workflow_output").all()
    assert sorted(str(row[0]) for row in rows) == ['"failed"', '"nothing"']
    assert {row[1] for row in rows} == {None}


async def test_a_turn_that_the_api_refuses_ends_as_failed_and_is_not_run_again(
    dispatcher: Dispatcher, serve: Serve
) -> None:
    api = MessagesAPI(script("Better."), faults={1: faults.bad_request("no")})
    async with serve(agent_for(api)):
        await dispatcher.post("c", "fails", key="k-1")
        await ends_as(dispatcher, "c", "failed")
        await dispatcher.post("c", "works", key="k-2")
        await ends_as(dispatcher, "c", "completed", turns=2)
    assert len(api.requests) == 2


class Slow:
    """A tool of effect `once` that begins, and goes on when it is let go."""

    def __init__(self) -> None:
        self.began = anyio.Event()
        self.go_on = anyio.Event()
        self.ran = 0

    def tool(self) -> tk.Tool:
        @tk.tool
        async def pay() -> str:
            """Pay."""
            self.ran += 1
            self.began.set()
            await self.go_on.wait()
            return "paid"

        return pay


async def test_told_to_stop_a_worker_lets_calls_end_and_hands_the_rest_of_the_turn_over(
    dispatcher: Dispatcher, serve: Serve
) -> None:
    slow = Slow()
    agent = agent_for(MessagesAPI(script(reply(call("pay", {})), "Paid.")), slow.tool())
    async with serve(agent) as stop:
        await dispatcher.post("c", "pay", key="k")
        await slow.began.wait()
        stop.set()
        await anyio.lowlevel.checkpoint()
        slow.go_on.set()
    events = [event.type for event in await dispatcher.journal.read("c")]
    assert events[-1] in ("call_finished", "request_started")
    assert (slow.ran, "call_unresolved" in events) == (1, False)
    async with serve(agent):
        await ends_as(dispatcher, "c", "completed")
    assert slow.ran == 1


async def test_calls_that_do_not_end_in_time_are_cut_off_and_a_person_is_asked(
    dispatcher: Dispatcher, serve: Serve
) -> None:
    slow = Slow()
    agent = agent_for(MessagesAPI(script(reply(call("pay", {})), "Paid.")), slow.tool())
    async with serve(agent, grace_seconds=0) as stop:
        await dispatcher.post("c", "pay", key="k")
        await slow.began.wait()
        stop.set()
    async with serve(agent), agent.open(dispatcher.journal) as keeper:
        await ends_as(dispatcher, "c", "awaiting_resolution")
        (unknown,) = await keeper.outcomes.list()
        await keeper.outcomes.happened("c", unknown.call_id, by=ANA)
        await ends_as(dispatcher, "c", "completed")
    assert slow.ran == 1


@pytest.mark.parametrize(("concurrency", "total"), [(2, None), (3, None), (2, 2)])
async def test_as_many_turns_run_at_once_as_allowed_and_no_more(
    dispatcher: Dispatcher, serve: Serve, concurrency: int, total: int | None
) -> None:
    """All wait in the queue before the worker comes; it takes as many as it may, and those hold their places."""
    engine = sa.create_engine(dispatcher.queue.url, poolclass=sa.pool.NullPool)
    running = most = 0
    full, go = anyio.Event(), anyio.Event()

    @tk.tool(effect="read")
    async def look() -> str:
        """Look."""
        nonlocal running, most
        running += 1
        most = max(most, running)
        if running == concurrency:
            full.set()
        await go.wait()
        running -= 1
        return "seen"

    def answer(body: dict[str, Any]) -> Any:
        return "ok" if len(body["messages"]) > 1 else reply(call("look", {}))

    def states() -> dict[str, int]:
        query = "SELECT status, count(*) FROM turnkeeper_workers.workflow_status GROUP BY status"
        with engine.connect() as connection:
            return {row[0]: row[1] for row in connection.exec_driver_sql(query)}

    for number in range(6):
        await dispatcher.post(f"c-{number}", "look", key="k")
    options = {"concurrency": concurrency, "total_concurrency": total}
    async with serve(agent_for(MessagesAPI(answer), look), **options):
        with anyio.fail_after(60):
            await full.wait()
        assert states() == {"PENDING": concurrency, "ENQUEUED": 6 - concurrency}
        assert running == concurrency
        go.set()
        for number in range(6):
            await ends_as(dispatcher, f"c-{number}", "completed")
    assert most == concurrency


async def test_the_limits_over_all_workers_are_the_queues_own(dispatcher: Dispatcher, serve: Serve) -> None:
    """DBOS keeps to them across processes; the worker that started last has set them."""
    engine = sa.create_engine(dispatcher.queue.url, poolclass=sa.pool.NullPool)

    def limits() -> Any:
        what = "concurrency, worker_concurrency, rate_limit_max, rate_limit_period_sec"
        with engine.connect() as connection:
            return connection.exec_driver_sql(f"SELECT {what} FROM turnkeeper_workers.queues").one()

    agent = agent_for(MessagesAPI(script()))
    async with serve(agent, concurrency=2, total_concurrency=3, rate=Rate(turns=5, seconds=7.0)):
        assert tuple(limits()) == (3, 2, 5, 7.0)
    async with serve(agent, concurrency=4):
        assert tuple(limits()) == (None, 4, None, None)


async def test_no_more_turns_begin_than_the_rate_allows(dispatcher: Dispatcher, serve: Serve) -> None:
    for number in range(5):
        await dispatcher.post(f"c-{number}", "hi", key="k")
    async with serve(agent_for(MessagesAPI(lambda body: "hello")), rate=Rate(turns=2, seconds=1.0)):
        for number in range(5):
            await ends_as(dispatcher, f"c-{number}", "completed")
    engine = sa.create_engine(dispatcher.queue.url, poolclass=sa.pool.NullPool)
    table = "turnkeeper_workers.workflow_status"
    query = f"SELECT started_at_epoch_ms FROM {table} WHERE started_at_epoch_ms IS NOT NULL ORDER BY 1"
    with engine.connect() as connection:
        began = list(connection.exec_driver_sql(query).scalars())
    assert len(began) >= 5  # one may be handed over again while it waits; its turn is run once all the same
    assert all(third - first >= 1000 for first, third in zip(began, began[2:], strict=False))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"concurrency": 0}, "concurrency is 1 or more"),
        ({"concurrency": 4, "total_concurrency": 3}, "total_concurrency not below it"),
        ({"poll_seconds": 0}, "poll_seconds is more than 0"),
        ({"look_seconds": float("nan")}, "look_seconds is more than 0"),
        ({"grace_seconds": -1}, "grace_seconds is 0 or more"),
    ],
)
async def test_numbers_that_can_not_be_used_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        await serve_worker(agent_for(MessagesAPI()), "postgresql://nobody@127.0.0.1:1/none", **options)


@pytest.mark.parametrize(("turns", "seconds"), [(0, 1), (1, 0), (1, float("inf")), (1, float("nan"))])
def test_a_rate_that_can_not_be_kept_is_refused(turns: int, seconds: float) -> None:
    with pytest.raises(ConfigurationError, match="a rate has 1 or more turns"):
        Rate(turns=turns, seconds=seconds)
