"""`turnkeeper worker`: says when it is ready, runs what is posted, and leaves in good order."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Awaitable, Callable

import anyio
import pytest

from tests.cli.conftest import Run, Serve, Start
from tests.workers.processes import until
from turnkeeper.testing import call, reply
from turnkeeper.workers import Dispatcher, open_dispatcher


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_worker_runs_what_is_posted_until_a_signal_comes(
    start: Start, serve: Serve, tools: str, postgres_database: str, how: signal.Signals
) -> None:
    url = serve(reply(call("weather", {"city": "Пермь"})), "Тепло.")
    options = ("--base-url", url, "-m", "claude-opus-4-8", "-T", tools, "--poll", "0.05", "--lease", "5")
    worker = start("worker", "--journal", postgres_database, *options)
    ready = worker.stdout.readline().decode()
    assert ready.startswith("worker "), worker.stderr.read()
    assert " takes turns from postgresql://turnkeeper:***@127.0.0.1:" in ready

    async def talk(dispatcher: Dispatcher) -> None:
        async def answered() -> bool:
            return [one.status for one in await dispatcher.journal.conversations()] == ["completed"]

        assert await dispatcher.post("c-1", "Погода в Перми?", key="sms-1") == "queued"
        await until(answered, "the message is answered", seconds=30)

    with_dispatcher(postgres_database, talk)
    os.kill(worker.command.pid, how)
    assert worker.ended() == (0, b"", b"turnkeeper: the worker has stopped\n")
    assert [block["content"] for block in serve.last["messages"][-1]["content"]] == ["Пермь: 21 degrees"]


def with_dispatcher(url: str, work: Callable[[Dispatcher], Awaitable[None]]) -> None:
    async def whole() -> None:
        async with open_dispatcher(url) as dispatcher:
            await work(dispatcher)

    anyio.run(whole)


@pytest.mark.parametrize("journal", [(), ("--journal", "sqlite:///desk.db"), ("--journal", "memory:")])
def test_a_journal_for_one_program_is_refused(run: Run, journal: tuple[str, ...]) -> None:
    done = run("worker", *journal)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == (
        "turnkeeper: workers need a journal in PostgreSQL, such as postgresql+psycopg://user@host/name; a journal in a"
        " file or in memory is driven by the program that opens it\n"
    )


def test_without_the_extra_it_is_said_what_to_install(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dbos", None)
    done = run("worker", "--journal", "postgresql://bot:S3cr3t@127.0.0.1:1/none")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == ("turnkeeper: workers need dbos, which is not installed: pip install 'turnkeeper[workers]'\n")


def test_a_server_that_is_not_there_is_one_line_without_the_password(run: Run) -> None:
    done = run("worker", "--journal", "postgresql://bot:S3cr3t@127.0.0.1:1/none")
    assert (done.exit_code, done.stdout) == (1, "")
    said = done.stderr.splitlines()[-1]
    assert said.startswith("turnkeeper: The journal postgresql://bot:***@127.0.0.1:1/none could not be opened: ")
    assert "S3cr3t" not in done.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--concurrency", "0"), "'--concurrency'"),
        (("--rate", "many"), "'many' is not a number of turns in a number of seconds such as 600/60"),
        (("--rate", "0/60"), "a rate has 1 or more turns"),
        (("--lease", "0"), "'--lease'"),
        (("--concurrency", "4", "--total-concurrency", "2"), "total_concurrency not below it"),
    ],
)
def test_options_that_can_not_be_used_are_refused(run: Run, options: tuple[str, ...], said: str) -> None:
    done = run("worker", "--journal", "postgresql://bot@127.0.0.1:1/none", *options)
    assert (done.exit_code, done.stdout) == (2, "")
    assert said in done.stderr
