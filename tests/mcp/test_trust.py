"""What servers answer is text from outside: labelled, and no effect follows it without a person."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import pytest

import turnkeeper as tk
from tests.mcp.conftest import Small, agent_for
from turnkeeper.errors import TurnkeeperError
from turnkeeper.testing import MessagesAPI, call, reply, script

pytestmark = pytest.mark.anyio

paid: list[int] = []


@tk.tool
def pay(amount: int) -> str:
    """Pay."""
    paid.append(amount)
    return "paid"


@pytest.mark.parametrize(("trusted", "status"), [(False, "awaiting_approval"), (True, "completed")])
async def test_after_a_server_s_answer_an_effect_needs_a_person(small: Small, trusted: bool, status: str) -> None:
    """Attack 17: a model that obeys whatever a server's answer says."""
    paid.clear()
    asked = [reply(call("small__ping", {})), reply(call("pay", {"amount": 500}))]
    api = MessagesAPI(script(*asked, *(["done"] if trusted else [])))
    entry = small.entry(effects={"ping": "read"}, trusted=trusted)
    async with tk.mcp.connect({"small": entry}) as tools:
        found = await agent_for(api, [*tools, pay]).run("go")
    assert found.status == status
    assert paid == ([500] if trusted else [])
    said = found.calls[0].content
    assert said == "pong" if trusted else said.startswith("<untrusted-")


async def test_turnkeeper_s_own_words_about_a_server_are_its_own(small: Small) -> None:
    """That an outcome is unknown is no claim of a stranger's, to be taken with care."""
    api = MessagesAPI(script(reply(call("small__bye", {})), reply(call("small__gone", {})), "done"))
    async with tk.mcp.connect({"small": small.entry(trusted=False)}) as tools:
        found = await agent_for(api, tools).run("go")
    assert found.calls[0].content.startswith("The MCP server 'small' closed the connection")
    assert found.text == "done"


async def test_what_a_server_says_on_stderr_moves_no_terminal(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    said = "\x1b[31mred\x1b[0m \x1b]0;title\x07\x9b2Jя\x00\r\x85 tok\x1b[0men=abcdef123456 \u202eend\x1b"
    program = tmp_path / "server.py"
    program.write_text(f"import sys\nsys.stderr.buffer.write({said!r}.encode())\nsys.exit(3)\n", "utf-8")
    with caplog.at_level(logging.INFO, logger="turnkeeper.mcp"), pytest.raises(TurnkeeperError) as caught:
        async with tk.mcp.connect({"s": {"command": sys.executable, "args": [str(program)]}}):
            pass
    lines = [one.getMessage() for one in caplog.records if "says" in one.getMessage()]
    assert len(lines) == 1
    assert lines[0].startswith("MCP server s says: red я token=")
    assert "abcdef123456" not in lines[0]
    assert lines[0].endswith(" end")
    for text in (lines[0], str(caught.value)):
        assert [
            one for one in text if one != "\n" and (ord(one) < 32 or 127 <= ord(one) < 160 or one == "\u202e")
        ] == []
