"""`--mcp FILE`: tools of MCP servers on the command line, and a file of the working folder that starts none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run, Serve
from tests.mcp.conftest import Small
from turnkeeper.testing import call, reply


@pytest.fixture
def servers(home: Path) -> Small:
    """`.mcp.json` in the working folder, with a small server in it."""
    small = Small(home / "ledger.txt")
    (home / ".mcp.json").write_text(json.dumps({"mcpServers": {"small": small.entry()}}))
    return small


def test_ask_uses_the_tools_of_a_server(run: Run, serve: Serve, servers: Small, home: Path) -> None:
    url = serve(reply(call("small__ping", {"text": "я"})), "It says pong.")
    forced = ("-m", "claude-opus-4-8", "--tool-choice", "small__ping")
    done = run("ask", "ping it", "--mcp", ".mcp.json", "--base-url", url, *forced)
    assert (done.exit_code, done.stdout) == (0, "It says pong.\n")
    assert servers.notes == ["started", 'call ping {"text": "\\u044f"}', "ended"]
    assert (home / ".mcp.pins.json").exists()


def test_they_stand_beside_tools_of_one_s_own_and_beside_the_desk_s(
    run: Run, serve: Serve, servers: Small, tools: str
) -> None:
    url = serve("hello")
    assert run("ask", "hi", "--mcp", ".mcp.json", "-T", f"{tools}:weather", "--base-url", url).exit_code == 0
    assert [tool["name"] for tool in serve.last["tools"]][:2] == ["weather", "small__ping"]
    url = serve("hello")
    assert run("desk", "--as", "staff", "--mcp", ".mcp.json", "--base-url", url, input="hi").exit_code == 0
    offered = [tool["name"] for tool in serve.last["tools"]]
    assert {"get_user", "cancel_order", "small__ping"} <= set(offered)


def test_a_settings_file_of_the_working_folder_starts_no_server(
    run: Run, serve: Serve, servers: Small, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cloned project must not run its programs by lying there."""
    settings = home / "turnkeeper.toml"
    settings.write_text('mcp = [".mcp.json"]\n')
    url = serve("hello", "hello")
    done = run("ask", "hi", "--base-url", url)
    assert done.exit_code == 2
    assert f"{settings} sets mcp, which decides which programs are started" in done.stderr
    assert servers.notes == []
    monkeypatch.setenv("TURNKEEPER_TRUST_FILE", str(settings))
    assert run("ask", "hi", "--base-url", url).exit_code == 0
    assert servers.notes == ["started", "ended"]
    monkeypatch.delenv("TURNKEEPER_TRUST_FILE")
    settings.unlink()
    monkeypatch.setenv("TURNKEEPER_MCP", ".mcp.json")
    assert run("ask", "hi", "--base-url", url).exit_code == 0
    assert servers.notes == ["started", "ended"] * 2


def test_a_changed_definition_is_said_and_not_offered(run: Run, serve: Serve, servers: Small, home: Path) -> None:
    url = serve("hello", "hello")
    assert run("ask", "hi", "--mcp", ".mcp.json", "--base-url", url).exit_code == 0
    pins = home / ".mcp.pins.json"
    content = json.loads(pins.read_text())
    record = content["servers"]["small"]["ping"]
    from turnkeeper.mcp.pins import digest_of

    record["definition"]["description"] = "What it said before."
    record["sha256"] = digest_of(record["definition"])
    pins.write_text(json.dumps(content))
    done = run("ask", "hi", "--mcp", ".mcp.json", "--base-url", url)
    assert done.exit_code == 0
    assert "turnkeeper: the tool 'ping' of MCP server 'small' is not on offer: its definition is not the one" in (
        done.stderr
    )
    assert "small__ping" not in [tool["name"] for tool in serve.last["tools"]]


def test_a_command_that_brings_no_tools_says_so(run: Run, servers: Small) -> None:
    done = run("sms", "--mcp", ".mcp.json", input="hi\n")
    assert (done.exit_code, done.stderr) == (2, "turnkeeper: this command has no use for --mcp; leave it out\n")
    assert servers.notes == []


def test_what_is_wrong_with_the_file_is_one_line(run: Run, home: Path) -> None:
    done = run("ask", "hi", "--mcp", "nowhere.json")
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith("turnkeeper: there is no file nowhere.json")
    (home / "servers.json").write_text('{"mcpServers": {"s": {"command": "/nowhere/at-all"}}}')
    done = run("ask", "hi", "--mcp", "servers.json")
    assert (done.exit_code, done.stderr) == (
        1,
        "turnkeeper: MCP server 's' (/nowhere/at-all) can't be used: there is no program /nowhere/at-all\n",
    )
