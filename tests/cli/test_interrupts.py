"""Ctrl-C in another process: the first cancels and writes down, the second leaves at once."""

from __future__ import annotations

import array
import fcntl
import json
import os
import termios
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run, Serve, Start
from turnkeeper.testing import call, reply

REFUNDS = '''"""Refunds that block, or that hang while they are cleaned up."""

import asyncio
import threading
from pathlib import Path

import turnkeeper as tk

LEDGER = Path(__file__).with_name("ledger")
GATE = threading.Event()


def note(text: str) -> None:
    with LEDGER.open("a") as file:
        file.write(text + "\\n")


@tk.tool(parallel=False)
def refund(id: int) -> str:
    """Pay back.

    Args:
        id: The payment.
    """
    note(f"begin {id}")
    if id == 2:
        print("blocked", flush=True)
        GATE.wait()
    note(f"end {id}")
    return f"refunded {id}"


@tk.tool
async def stubborn() -> str:
    """Never ends by itself, and doesn't like to be stopped."""
    print("blocked", flush=True)
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        print("cleaning up", flush=True)
        await asyncio.Event().wait()
    return ""
'''


@pytest.fixture
def refunds(home: Path) -> str:
    (home / "refunds.py").write_text(REFUNDS)
    return "refunds.py"


def results(run: Run, name: str) -> list[dict[str, Any]]:
    messages = json.loads(run("export", name).stdout)["messages"]
    found: list[dict[str, Any]] = messages[2]["content"]
    return found


def test_the_first_interrupt_cancels_the_turn_and_every_call_gets_its_result(
    run: Run, serve: Serve, start: Start, refunds: str, home: Path
) -> None:
    """Report B12-ctrl-c-then-rerun.

    https://github.com/EvoScientist/EvoScientist/issues/463
    """
    url = serve(reply(*(call("refund", {"id": number}) for number in (1, 2, 3))), "understood")
    talk = ["--base-url", url, "-T", refunds, "--conversation", "c"]
    process = start("ask", *talk, "refund all three")
    process.read_until(b"blocked", process.stderr)
    process.command.interrupt()
    code, _, errors = process.ended()
    assert code == 130
    shown = errors.decode().splitlines()
    assert [line.split("·")[1].split()[0] for line in shown if "·" in line] == ["refund(id=2)", "refund(id=3)"]
    assert shown[-1].startswith("turnkeeper: cancelled; every call has its result")
    assert (home / "ledger").read_text().split("\n") == ["begin 1", "end 1", "begin 2", ""]

    one, two, three = results(run, "c")
    assert one["content"] == "refunded 1"
    assert "is_error" not in one
    assert "its effect is unknown" in two["content"]
    assert "Not run" in three["content"]
    after = run("ask", *talk, "what happened?")
    assert (after.exit_code, after.stdout) == (0, "understood\n")
    assert (home / "ledger").read_text().count("begin") == 2, "nothing runs again by itself"
    serve.api.assert_all_accepted()


def test_the_second_interrupt_leaves_at_once_and_the_conversation_can_go_on(
    run: Run, serve: Serve, start: Start, refunds: str
) -> None:
    url = serve(reply(call("stubborn", {})), "understood")
    talk = ["--base-url", url, "-T", refunds, "--conversation", "c"]
    process = start("ask", *talk, "go")
    process.read_until(b"blocked", process.stderr)
    process.command.interrupt()
    process.read_until(b"cleaning up", process.stderr)
    process.command.interrupt()
    code, _, errors = process.ended()
    assert code == 130
    assert b"Traceback" not in errors
    after = run("ask", *talk, "what happened?")
    assert (after.exit_code, after.stdout) == (0, "understood\n")
    assert results(run, "c")[0]["is_error"]
    serve.api.assert_all_accepted()


def test_an_interrupt_while_the_prompt_is_read_leaves_with_130(start: Start) -> None:
    read_end, write_end = os.pipe()
    process = start("ask", "-", stdin=read_end)
    os.write(write_end, b"begun, but not ended")
    while _waiting(read_end):  # it reads, so it is past everything else
        os.sched_yield()
    process.command.interrupt()
    os.close(write_end)
    os.close(read_end)
    code, out, errors = process.ended()
    assert (code, out) == (130, b"")
    assert b"Traceback" not in errors


def _waiting(fd: int) -> int:
    """Bytes in a pipe that nobody has read."""
    count = array.array("i", [0])
    fcntl.ioctl(fd, termios.FIONREAD, count)
    return count[0]


def test_a_served_simulator_stops_quietly(start: Start) -> None:
    process = start("simulate")
    assert process.stdout.readline().startswith(b"listening on http://127.0.0.1:")
    process.command.interrupt()
    assert process.ended() == (0, b"", b"")
