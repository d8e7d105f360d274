"""A process killed between a change and its commit: nothing was changed, and going on changes it once."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from turnkeeper import desk
from turnkeeper.desk.domain import OrderStatus
from turnkeeper.testing import MessagesAPI, script

KILLED = """
import asyncio
import sys
import turnkeeper as tk
from turnkeeper import desk
from turnkeeper.driver.recorder import Recorder
from turnkeeper.testing import MessagesAPI, call, reply, script

async def never(recorder, opened):
    print("written", flush=True)
    await asyncio.Event().wait()

Recorder.commit = never

async def turn(url):
    cancel = call("cancel_order", {"order_id": "13579"}, id="toolu_c")
    with desk.open_database(url) as database:
        async with desk.agent(database, client=MessagesAPI(script(reply(cancel)))).open(database.journal_url) as keeper:
            conversation = await keeper.conversation("c-1", principal=tk.Principal("staff", "ana"))
            await conversation.send("Отмените 13579.")

asyncio.run(turn(sys.argv[1]))
"""


def kill_in_the_middle(url: str) -> None:
    """Run a turn in a process of its own, and kill that when the tool has written and nothing is committed."""
    process = subprocess.Popen([sys.executable, "-c", KILLED, url], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "written\n"
    finally:
        process.kill()  # SIGKILL
        process.communicate()


@pytest.mark.anyio
async def test_a_kill_before_the_commit_changes_nothing_and_recovery_cancels_once(url: str) -> None:
    kill_in_the_middle(url)
    with desk.open_database(url) as database:
        found = database.order("13579")
        assert found is not None
        assert found.status is OrderStatus.PROCESSING
        assert database.audit(subject="order:13579") == ()

        # an hour later, when the killed process's lease is over
        agent = desk.agent(database, client=MessagesAPI(script("Done.")), clock=lambda: time.time() + 3600)
        async with agent.open(database.journal_url) as keeper:
            (done,) = await keeper.recover()
            assert (done.text, [call.outcome for call in done.calls]) == ("Done.", ["succeeded"])
            assert await keeper.recover() == ()
        (line,) = database.audit(subject="order:13579")
        assert (line.outcome, line.principal_id, line.call_id) == ("cancelled", "ana", "toolu_c")
        found = database.order("13579")
        assert found is not None
        assert found.status is OrderStatus.CANCELLED
