"""A worker inside the test's own process, and a dispatcher beside it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import anyio
import pytest

import turnkeeper as tk
from tests.workers.worker import MODEL
from turnkeeper.testing import MessagesAPI
from turnkeeper.workers import Dispatcher, open_dispatcher, serve_worker

__all__ = ("Serve", "agent_for", "anyio_backend", "dispatcher", "serve")

Serve = Callable[..., AbstractAsyncContextManager[anyio.Event]]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def dispatcher(postgres_database: str) -> AsyncIterator[Dispatcher]:
    async with open_dispatcher(postgres_database) as opened:
        yield opened


def agent_for(api: MessagesAPI, *tools: Any, **options: Any) -> tk.Agent:
    return tk.Agent(client=api, model=MODEL, tools=tools, **options)


@pytest.fixture
def serve(postgres_database: str) -> Serve:
    """`async with serve(agent, …) as stop`: a worker that takes turns; setting `stop` or leaving the block stops it."""

    @asynccontextmanager
    async def serving(agent: tk.Agent, **options: Any) -> AsyncIterator[anyio.Event]:
        ready, stop = anyio.Event(), anyio.Event()
        options = {"poll_seconds": 0.05, "look_seconds": 0.2, **options}

        async def work() -> None:
            await serve_worker(agent, postgres_database, stop=stop, ready=lambda _: ready.set(), **options)
            ready.set()

        async with anyio.create_task_group() as group:
            group.start_soon(work)
            with anyio.fail_after(60):
                await ready.wait()
            yield stop
            stop.set()

    return serving
