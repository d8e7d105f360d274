"""A worker process with one tool of each kind of effect: `python -m tests.workers.worker JOURNAL API NAME [OPTIONS]`.

Each tool writes down that it ran, in tables that the test reads: `transactional` through the journal's own
transaction, `idempotent` and `once` through a connection of their own, as an effect on the world would be. A worker
that is `held` waits there, in the middle of each call, for a lock of the test's: so that it can be killed while calls
are under way.
"""

from __future__ import annotations

import argparse
import logging

import sqlalchemy as sa

import turnkeeper as tk
from turnkeeper.workers import Rate, run_worker

__all__ = ("GATE", "MODEL", "TABLES", "run")

MODEL = "claude-opus-4-8"
GATE = 7_4_1
TABLES = sa.MetaData()
RUNS = sa.Table(
    "test_runs",
    TABLES,
    sa.Column("number", sa.BigInteger, sa.Identity(), primary_key=True),
    sa.Column("tool", sa.Text, nullable=False),
    sa.Column("key", sa.Text, nullable=False),
    sa.Column("worker", sa.Text, nullable=False),
    sa.Column("principal", sa.Text, nullable=False),
)


def tools(world: sa.Engine, name: str, held: bool) -> list[tk.Tool]:
    """One for each effect that writes."""

    def write(connection: sa.Connection, tool: str, ctx: tk.ToolContext) -> None:
        who = ctx.principal.id if ctx.principal is not None else ""
        connection.execute(sa.insert(RUNS).values(tool=tool, key=ctx.key, worker=name, principal=who))

    def wait(connection: sa.Connection) -> None:
        if held:
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock_shared(GATE)))

    @tk.tool(effect="transactional")
    def book(ctx: tk.ToolContext, number: int) -> str:
        """Book."""
        write(ctx.connection, "book", ctx)
        wait(ctx.connection)
        return f"booked {number}"

    def act(tool: str, ctx: tk.ToolContext) -> None:
        with world.begin() as connection:
            write(connection, tool, ctx)
        with world.begin() as connection:
            wait(connection)

    @tk.tool(effect="idempotent")
    def notify(ctx: tk.ToolContext, number: int) -> str:
        """Notify."""
        act("notify", ctx)
        return f"notified {number}"

    @tk.tool(effect="once")
    def pay(ctx: tk.ToolContext, number: int) -> str:
        """Pay."""
        act("pay", ctx)
        return f"paid {number}"

    return [book, notify, pay]


def run() -> None:
    """Be a worker until a signal comes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("journal")
    parser.add_argument("api")
    parser.add_argument("name")
    parser.add_argument("--world", help="where effects on the world go; default: the journal's database")
    parser.add_argument("--held", action="store_true")
    parser.add_argument("--lease", type=float, default=30.0)
    parser.add_argument("--concurrency", type=int, default=6)
    parser.add_argument("--rate", type=int)
    parser.add_argument("--grace", type=float, default=30.0)
    given = parser.parse_args()
    logging.basicConfig(level=logging.WARNING)
    world = sa.create_engine(given.world or given.journal, pool_size=4, max_overflow=0)
    agent = tk.Agent(
        model=MODEL,
        base_url=given.api,
        api_key="sk-ant-simulator",
        tools=tools(world, given.name, given.held),
        lease_seconds=given.lease,
    )
    run_worker(
        agent,
        given.journal,
        concurrency=given.concurrency,
        rate=Rate(turns=given.rate, seconds=1.0) if given.rate else None,
        poll_seconds=0.1,
        look_seconds=0.5,
        grace_seconds=given.grace,
        ready=lambda executor: print("ready", executor, flush=True),  # noqa: T201
    )
    world.dispose()
    print("stopped", flush=True)  # noqa: T201


if __name__ == "__main__":
    run()
