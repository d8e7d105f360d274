"""A process killed around a change and its commit: what was not committed was not changed, and each is changed once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from turnkeeper import desk
from turnkeeper.desk.domain import OrderStatus
from turnkeeper.desk.record import SYSTEM
from turnkeeper.testing import MessagesAPI, script

KILLED = """
import asyncio
import json
import os
import signal
import sys
import tempfile
from contextlib import asynccontextmanager
import turnkeeper as tk
from turnkeeper import desk
from turnkeeper.driver.recorder import Recorder
from turnkeeper.testing import MessagesAPI, call, reply

commit, transaction = Recorder.commit, Recorder.transaction

async def die():
    print(os.getpid(), point, flush=True)
    await asyncio.Event().wait()

@asynccontextmanager
async def begun(recorder):
    async with transaction(recorder) as opened:
        await die()
        yield opened

async def written(recorder, opened):
    await die()

async def committed(recorder, opened):
    await commit(recorder, opened)
    await die()

def answer(request):
    if len(request["messages"]) > 1:
        print(os.getpid(), point, flush=True)
        signal.pause()
    return reply(call(name, given, id="toolu_c"))

async def turn():
    with desk.open_database(url) as database:
        async with desk.agent(database, client=MessagesAPI(answer)).open(database.journal_url) as keeper:
            conversation = await keeper.conversation("c-1", principal=tk.Principal("staff", "ana"))
            await conversation.send("Пожалуйста.")
            for waiting in await keeper.approvals.list():
                await keeper.approvals.approve(waiting.id, by=tk.Principal("staff", "борис"))
            await conversation.resume()

async def warm(url):
    with desk.open_database(url) as database:
        async with desk.agent(database, client=MessagesAPI(lambda _: "ok")).open(database.journal_url) as keeper:
            await (await keeper.conversation("c-1", principal=tk.Principal("staff", "ana"))).send("Привет")

with tempfile.TemporaryDirectory() as folder:  # all modules are loaded once, before any fork
    asyncio.run(warm(f"sqlite:///{folder}/desk.db"))
for line in sys.stdin:
    if os.fork():
        os.wait()
        print("gone", flush=True)
        continue
    url, point, name, given = json.loads(line)
    if point == "begun":
        Recorder.transaction = begun
    elif point != "answered":
        Recorder.commit = {"written": written, "committed": committed}[point]
    asyncio.run(turn())
    os._exit(1)
"""

CHANGES: dict[str, tuple[dict[str, Any], str, str]] = {
    "cancel_order": ({"order_id": "13579"}, "order:13579", "cancelled"),
    "update_contact": ({"customer_id": "2837622", "email": "priya@новая.рф"}, "customer:2837622", "changed"),
}
POINTS = ("begun", "written", "committed", "answered")
"""Before the tool runs, when it has written, when that is committed and nobody knows, when the model has the result."""


class Killer:
    """A process that forks another for each turn, and kills that."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def kill_at(self, url: str, point: str, tool: str) -> None:
        """Run a turn in a process of its own, and kill that at the point."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([url, point, tool, CHANGES[tool][0]]) + "\n")
        self._process.stdin.flush()
        pid, _, reached = self._process.stdout.readline().partition(" ")
        assert reached == f"{point}\n"
        os.kill(int(pid), signal.SIGKILL)
        assert self._process.stdout.readline() == "gone\n"


@pytest.fixture(scope="module")
def killer() -> Iterator[Killer]:
    command = [sys.executable, "-c", KILLED]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Killer(process)
        process.kill()


async def killed_and_recovered(killer: Killer, url: str, point: str, tool: str) -> None:
    killer.kill_at(url, point, tool)
    _, subject, outcome = CHANGES[tool]
    with desk.open_database(url) as database:
        is_done = point in ("committed", "answered")
        assert [line.outcome for line in database.audit(subject=subject)] == ([outcome] if is_done else [])
        assert is_changed(database, tool) is is_done

        # an hour later, when the killed process's lease is over
        agent = desk.agent(database, client=MessagesAPI(script("Done.")), clock=lambda: time.time() + 3600)
        async with agent.open(database.journal_url) as keeper:
            (done,) = await keeper.recover()
            assert (done.text, [call.outcome for call in done.calls]) == ("Done.", ["succeeded"])
            assert await keeper.recover() == ()
            starts = [event.type for event in await keeper.journal.read("c-1")].count("call_started")
        (line,) = database.audit(subject=subject)
        assert (line.outcome, line.principal_id, line.call_id) == (outcome, "ana", "toolu_c")
        assert is_changed(database, tool)
        assert starts == (1 if is_done else 2)


def is_changed(database: desk.Desk, tool: str) -> bool:
    if tool == "cancel_order":
        order = database.order("13579")
        assert order is not None
        return order.status is OrderStatus.CANCELLED
    with database.transaction(SYSTEM) as repository:
        customer = repository.customer("2837622")
    assert customer is not None
    return customer.email == "priya@новая.рф"


@pytest.mark.anyio
@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("tool", list(CHANGES))
async def test_a_change_is_made_once_wherever_its_process_is_killed(
    killer: Killer, tmp_path: Path, tool: str, point: str
) -> None:
    await killed_and_recovered(killer, f"sqlite:///{tmp_path}/desk.db", point, tool)


@pytest.mark.anyio
@pytest.mark.parametrize(("tool", "point"), [("cancel_order", "written"), ("update_contact", "committed")])
async def test_the_same_on_postgresql(killer: Killer, postgres_database: str, tool: str, point: str) -> None:
    await killed_and_recovered(killer, postgres_database, point, tool)
