"""The background loop of the synchronous doors: forks, calls from inside it, interrupts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import anyio
import anyio.to_thread
import pytest

import turnkeeper as tk
from tests.driver.conftest import agent_over
from turnkeeper.testing import MessagesAPI, call, reply, script

FORKS = """
import os, signal, sys
import turnkeeper as tk
from turnkeeper.testing import MessagesAPI

def ask(text):
    return tk.Agent(model="claude-opus-4-8", client=MessagesAPI(lambda request: text)).run_sync("x").text

print(ask("parent"), flush=True)
child = os.fork()
if child == 0:
    signal.alarm(20)
    print(ask("child"), ask("again"), flush=True)
    os._exit(0)
print("exit status", os.waitpid(child, 0)[1], ask("and the parent goes on"), flush=True)
"""


def asking(agent: tk.Agent) -> Callable[..., Any]:
    async def ask() -> str:
        """Ask another agent, and let everything wait for it."""
        return agent.run_sync("x").text

    return ask


def within_20_seconds(work: Callable[[], object]) -> object:
    """What `work` gives, done in another thread; a test that hangs fails."""
    found: list[object] = []

    def run() -> None:
        try:
            found.append(work())
        except BaseException as error:
            found.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(20)
    assert found, "it hangs"
    return found[0]


def loops() -> int:
    return sum(thread.name == "turnkeeper" for thread in threading.enumerate())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_has_a_loop_of_its_own() -> None:
    done = subprocess.run([sys.executable, "-c", FORKS], capture_output=True, text=True, check=False, timeout=60)
    assert done.stdout.splitlines() == ["parent", "child again", "exit status 0 and the parent goes on"]
    assert done.stderr == ""


def test_a_tool_on_the_loop_may_ask_another_agent_synchronously() -> None:
    inner = agent_over(MessagesAPI(lambda request: "inner"))

    def ask() -> object:
        outer = agent_over(MessagesAPI(script(reply(call("ask")), "outer")), tools=[asking(inner)])
        found = outer.run_sync("go")
        return found.text, [record.content for record in found.calls]

    assert within_20_seconds(ask) == ("outer", ["inner"])
    before = loops()
    assert [within_20_seconds(ask) for _ in range(4)] == [("outer", ["inner"])] * 4
    assert loops() == before


def test_a_thread_of_the_inner_agents_tool_may_ask_a_third() -> None:
    third = agent_over(MessagesAPI(lambda request: "third"))

    def ask_third() -> str:
        """In a worker thread."""
        return third.run_sync("x").text

    inner = agent_over(MessagesAPI(script(reply(call("ask_third")), "inner")), tools=[ask_third])
    outer = agent_over(MessagesAPI(script(reply(call("ask")), "outer")), tools=[asking(inner)])
    assert within_20_seconds(lambda: outer.run_sync("go").text) == "outer"


def test_an_interrupt_in_one_call_leaves_the_others_alone() -> None:
    waits, goes_on = threading.Event(), threading.Event()

    async def slow() -> str:
        """Waits until the other call has been interrupted."""
        waits.set()
        await anyio.to_thread.run_sync(goes_on.wait)
        return "done"

    async def interrupt() -> str:
        """As if Ctrl-C were pressed."""
        raise KeyboardInterrupt

    patient = agent_over(MessagesAPI(script(reply(call("slow")), "patient")), tools=[slow])
    hasty = agent_over(MessagesAPI(script(reply(call("interrupt")))), tools=[interrupt])
    found: list[str] = []
    thread = threading.Thread(target=lambda: found.append(patient.run_sync("go").text), daemon=True)
    thread.start()
    assert waits.wait(20)
    with pytest.raises(KeyboardInterrupt):
        hasty.run_sync("go")
    goes_on.set()
    thread.join(20)
    assert found == ["patient"]


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="this system has no pthread_kill")
def test_ctrl_c_cancels_the_work_and_waits_for_its_clean_up() -> None:
    ended: list[str] = []

    async def press() -> str:
        """Ctrl-C, while this runs."""
        main = threading.main_thread().ident
        assert main is not None
        signal.pthread_kill(main, signal.SIGINT)
        try:
            await anyio.sleep_forever()
        finally:
            ended.append("cleaned up")
        return "never"

    with pytest.raises(KeyboardInterrupt):
        agent_over(MessagesAPI(script(reply(call("press")))), tools=[press]).run_sync("go")
    assert ended == ["cleaned up"]
