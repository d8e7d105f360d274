"""The work of `worker`."""

from __future__ import annotations

from contextlib import nullcontext

import sqlalchemy as sa

from turnkeeper.cli.bringing import mcp_servers, tell_refused
from turnkeeper.cli.conversing import build_agent
from turnkeeper.cli.exits import Exit
from turnkeeper.cli.options import Talk
from turnkeeper.cli.places import journal_url
from turnkeeper.cli.problems import told
from turnkeeper.cli.terminal import Terminal
from turnkeeper.journal.urls import shown
from turnkeeper.workers import Rate, run_worker
from turnkeeper.workers.queueing import database_url, quiet_dbos

__all__ = ("work",)


def work(
    talk: Talk,
    *,
    lease: float,
    concurrency: int,
    total_concurrency: int | None,
    rate: tuple[int, float] | None,
    grace: float,
    poll: float,
    look: float,
) -> int:
    """Take turns until a signal comes."""
    terminal = Terminal(color=not talk.no_color)
    url = database_url(journal_url(talk.journal))
    quiet_dbos()
    place = shown(sa.make_url(url))
    with told(), mcp_servers(talk) or nullcontext(()) as brought:
        tell_refused(brought, terminal)
        agent, _ = build_agent(talk, terminal, lease_seconds=lease, brought=brought)
        run_worker(
            agent,
            url,
            concurrency=concurrency,
            total_concurrency=total_concurrency,
            rate=None if rate is None else Rate(turns=rate[0], seconds=rate[1]),
            grace_seconds=grace,
            poll_seconds=poll,
            look_seconds=look,
            ready=lambda name: terminal.answer(f"worker {name} takes turns from {place}\n"),
        )
    terminal.note("turnkeeper: the worker has stopped")
    return Exit.DONE
