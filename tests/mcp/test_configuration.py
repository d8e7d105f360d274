"""`.mcp.json`: the format that other programs read, variables of the environment, and what can't be used."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

import turnkeeper as tk
from tests.mcp.conftest import Small, called
from turnkeeper.errors import ConfigurationError
from turnkeeper.mcp.configuration import ServerEntry, read_entries, read_file

ENVIRON = {"TOKEN": "s3cret-x", "EMPTY": "", "HOST": "example.org", "ANTHROPIC_API_KEY": "sk-ant-secret"}


def read(entry: dict[str, Any]) -> ServerEntry:
    (found,) = read_entries({"mcpServers": {"s": entry}}, environ=ENVIRON)
    return found


def test_a_file_as_other_programs_write_it(tmp_path: Path) -> None:
    file = tmp_path / ".mcp.json"
    content = {
        "mcpServers": {
            "files": {
                "command": "srv",
                "args": ["-x", "${EMPTY:-/данные}"],
                "env": {"T": "a${TOKEN}"},
                "alwaysAllow": [],
            },
            "web": {"type": "http", "url": "https://${HOST}/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}},
            "off": {"command": "x", "disabled": True},
        }
    }
    file.write_text("\ufeff" + json.dumps(content, ensure_ascii=False), encoding="utf-8")
    files, web = read_file(file, environ=ENVIRON)
    assert (files.name, files.command, files.args, files.env) == ("files", "srv", ("-x", "/данные"), {"T": "as3cret-x"})
    assert (web.url, web.headers) == ("https://example.org/mcp", {"Authorization": "Bearer s3cret-x"})
    assert "s3cret" not in repr((files, web))
    assert web.place == "https://example.org/mcp"


def test_what_is_turnkeeper_s_own() -> None:
    own = {
        "allow": ["a", "b"],
        "deny": ["c"],
        "effects": {"a": "read", "b": "idempotent"},
        "approval": {"b": "always"},
        "timeout": None,
        "start_timeout": 5,
        "required": False,
        "trusted": True,
    }
    entry = read({"url": "http://localhost:1/mcp?key=x", "turnkeeper": own})
    assert (entry.allow, entry.deny, entry.effects) == (("a", "b"), ("c",), {"a": "read", "b": "idempotent"})
    assert (entry.approval, entry.timeout, entry.start_timeout, entry.required) == ({"b": "always"}, None, 5.0, False)
    assert (entry.place, entry.is_trusted) == ("http://localhost:1/mcp", True)
    assert not read({"command": "x"}).is_trusted
    assert (read({"command": "x"}).timeout, read({"command": "x"}).start_timeout) == (120.0, 30.0)


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({}, "has either a command (stdio) or a url (streamable HTTP)"),
        ({"command": "x", "url": "http://x"}, "has either a command"),
        ({"command": "x", "type": "http"}, "has either a command"),
        ({"type": "sse", "url": "http://x/sse"}, 'the transport "sse" is no longer part of MCP'),
        ({"type": "ws", "url": "http://x"}, 'type is "stdio" or "http", not \'ws\''),
        ({"url": "ftp://x"}, "its url is http://HOST/PATH or https://HOST/PATH"),
        ({"command": 5}, "command is text"),
        ({"command": "a\0b"}, "command is text"),
        ({"command": "x", "args": "no list"}, "args is a list of texts"),
        ({"command": "x", "env": {"A": 1}}, "env is an object whose values are texts"),
        (
            {"command": "x", "args": ["${NOWHERE}"]},
            "needs the environment variable NOWHERE; set it, or write ${NOWHERE:-",
        ),
        ({"command": "x", "env": {"A=B": "c"}}, "env 'A=B' can't be a variable"),
        ({"url": "http://x", "headers": {"X-Key": "sk-ant-secret\n"}}, "headers 'X-Key' can't be sent"),
        ({"url": "http://x", "headers": {"X-Key": "sk-ant-ключ"}}, "headers 'X-Key' can't be sent"),
        ({"url": "http://x", "headers": {"X Key": "a"}}, "headers 'X Key' can't be sent"),
        ({"command": "x", "env": {"K": "${ANTHROPIC_API_KEY}"}}, "asks for ANTHROPIC_API_KEY, your key for the model"),
        ({"command": "x", "turnkeeper": {"efects": {}}}, "unknown member 'efects'; known are allow, approval"),
        (
            {"command": "x", "turnkeeper": {"effects": {"t": "transactional"}}},
            "the effect of 't' is read, idempotent, once",
        ),
        ({"command": "x", "turnkeeper": {"approval": {"t": "maybe"}}}, "is always or never"),
        ({"command": "x", "turnkeeper": {"timeout": 0}}, "timeout is a number of seconds above 0"),
        ({"command": "x", "turnkeeper": {"required": "yes"}}, "required is true or false"),
        ("x", "is an object with a command or a url"),
    ],
)
def test_what_can_not_be_used_is_named(entry: Any, said: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        read(entry)
    assert str(raised.value).startswith("the servers: server 's'")
    assert said in str(raised.value)
    assert "sk-ant" not in str(raised.value)


@pytest.mark.parametrize("content", ["[]", "{}", "{", '{"mcpServers": []}', b"\xff"])
def test_a_file_that_is_none(tmp_path: Path, content: str | bytes) -> None:
    file = tmp_path / "servers.json"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ConfigurationError, match=str(file)):
        read_file(file)
    with pytest.raises(ConfigurationError, match="there is no file"):
        tk.mcp.connect(tmp_path / "nowhere.json")


def test_two_servers_of_one_name() -> None:
    with pytest.raises(ConfigurationError, match="two MCP servers are named 's'"):
        tk.mcp.connect({"s": {"command": "x"}}, {"s": {"command": "y"}})


@pytest.mark.anyio
async def test_allowed_and_denied_tools(small: Small) -> None:
    async with tk.mcp.connect({"small": small.entry(allow=["ping", "pid", "nowhere"], deny=["pid"])}) as tools:
        assert tools.names == ("small__ping",)


@pytest.mark.anyio
async def test_a_server_gets_its_own_variables_and_none_of_the_keys(
    small: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-secret")
    monkeypatch.setenv("DATABASE_PASSWORD", "geheim")
    entry = {**small.entry(), "env": {"ИМЯ": "значение"}}
    async with tk.mcp.connect({"small": entry}) as tools:
        (result,) = await called(tools, ("small__environment", {}))
    seen = json.loads(result["content"])
    assert seen["ИМЯ"] == "значение"
    assert {"ANTHROPIC_API_KEY", "DATABASE_PASSWORD"} & set(seen) == set()


@pytest.mark.anyio
async def test_a_server_that_can_not_be_started_is_named_with_its_last_words(small: Small, tmp_path: Path) -> None:
    program = "import sys; sys.exit('no module: password=hunter2 нет')"
    with pytest.raises(tk.mcp.MCPServerError) as raised:
        async with tk.mcp.connect({"bad": {"command": sys.executable, "args": ["-c", program]}}):
            pass
    assert str(raised.value) == (
        f"MCP server 'bad' ({sys.executable}) can't be used: Connection closed; its last words: no module:"
        " password=*** нет"
    )
    with pytest.raises(tk.mcp.MCPServerError, match="there is no program /nowhere/at-all"):
        async with tk.mcp.connect({"bad": {"command": "/nowhere/at-all"}}):
            pass
    silent: dict[str, Any] = {"command": sys.executable, "args": ["-c", "import sys; sys.stdin.read()"]}
    silent["turnkeeper"] = {"start_timeout": 0.2}
    with pytest.raises(tk.mcp.MCPServerError, match=r"it did not answer within 0\.2 s"):
        async with tk.mcp.connect({"bad": silent}):
            pass
    absent = {"command": "/nowhere/at-all", "turnkeeper": {"required": False}}
    async with tk.mcp.connect({"bad": absent, "small": small.entry(allow=["ping"])}) as tools:
        assert tools.names == ("small__ping",)
        assert list(tools.refused) == [("bad", "")]


@pytest.mark.anyio
async def test_a_listing_without_end_is_not_followed(small: Small) -> None:
    with pytest.raises(tk.mcp.MCPServerError, match="its list of tools has no end"):
        async with tk.mcp.connect({"small": small.entry("endless")}):
            pass
    assert small.notes == ["started", "ended"]


@pytest.mark.anyio
async def test_progress_reaches_whoever_reads_the_turn(small: Small) -> None:
    from tests.mcp.conftest import agent_for
    from turnkeeper.testing import MessagesAPI, call, reply, script
    from turnkeeper.updates import ToolProgress

    api = MessagesAPI(script(reply(call("small__progress", {})), "done"))
    async with tk.mcp.connect({"small": small.entry()}) as tools, agent_for(api, tools).open() as keeper:
        conversation = await keeper.conversation("c-1")
        seen = [update async for update in conversation.send("go") if isinstance(update, ToolProgress)]
    assert [(update.message, update.fraction) for update in seen] == [("…", 0.25), ("…", 0.5)]
