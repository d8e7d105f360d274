"""MCP servers that others wrote, as tools of an agent: `server-everything` and `server-filesystem` from npm."""

from __future__ import annotations

import base64
import json
import os
import re
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

import turnkeeper as tk
from tests.mcp.conftest import agent_for, called
from turnkeeper.testing import MessagesAPI, call, reply, script
from turnkeeper.tools import run_call
from turnkeeper.updates import ToolProgress

pytestmark = [pytest.mark.anyio, pytest.mark.npm]

LEGAL = re.compile(r"[a-zA-Z0-9_-]{1,64}")


@pytest.fixture(scope="module")
def everything() -> str:
    return str(_packages() / ".bin" / "mcp-server-everything")


@pytest.fixture(scope="module")
def filesystem() -> str:
    return str(_packages() / ".bin" / "mcp-server-filesystem")


def _packages() -> Path:
    return Path(os.environ["TURNKEEPER_MCP_PACKAGES"])


@pytest.fixture
def endpoint(everything: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """The same server over HTTP: its URL and its process."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    process = subprocess.Popen(
        [everything, "streamableHttp"], env={**os.environ, "PORT": str(port)}, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    while "listening on port" not in (line := process.stderr.readline()):
        assert line, "it did not start"
    try:
        yield f"http://127.0.0.1:{port}/mcp", process
    finally:
        process.kill()
        process.communicate()


def blocks_of(result: dict[str, Any]) -> list[dict[str, Any]]:
    return list(result["content"])


async def use_everything(entry: dict[str, Any]) -> None:
    entry = {**entry, "turnkeeper": {"trusted": True}}
    async with tk.mcp.connect({"every.thing": entry}) as tools:
        own = {tool.name.partition("__")[2].rpartition("_")[0]: tool.name for tool in tools}
        assert {"echo", "get-sum", "get-structured-content", "get-tiny-image", "get-resource-links"} <= set(own)
        assert tools.refused == {}
        assert [name for name in tools.names if not LEGAL.fullmatch(name)] == []
        echo, total, structured, image, links, resource, bad = await called(
            tools,
            (own["echo"], {"message": "здравствуй 🌍"}),
            (own["get-sum"], {"a": 2, "b": 40}),
            (own["get-structured-content"], {"location": "Chicago"}),
            (own["get-tiny-image"], {}),
            (own["get-resource-links"], {"count": 2}),
            (own["get-resource-reference"], {"resourceType": "Text", "resourceId": 1}),
            (own["get-sum"], {"a": "two"}),
        )
    assert echo["content"] == "Echo: здравствуй 🌍"
    assert total["content"] == "The sum of 2 and 40 is 42."
    assert json.loads(structured["content"])["conditions"]  # said twice by the server, once here
    kinds = [block["type"] for block in blocks_of(image)]
    assert kinds == ["text", "image", "text"]
    assert base64.b64decode(blocks_of(image)[1]["source"]["data"])[:4] == b"\x89PNG"
    assert sum(block["text"].startswith("[link to a resource: ") for block in blocks_of(links)) == 2
    assert any(block["text"].startswith("[resource ") for block in blocks_of(resource))
    assert bad["is_error"] is True
    assert "b: is required" in bad["content"]


async def test_everything_over_stdio(everything: str) -> None:
    await use_everything({"command": everything, "args": ["stdio"]})


async def test_everything_over_http(endpoint: tuple[str, subprocess.Popen[str]]) -> None:
    await use_everything({"type": "http", "url": endpoint[0]})


async def test_progress_of_a_long_operation(everything: str) -> None:
    asked = call("e__trigger-long-running-operation", {"duration": 0.4, "steps": 4})
    api = MessagesAPI(script(reply(asked), "done"))
    entry = {"command": everything, "args": ["stdio"], "turnkeeper": {"trusted": True}}
    async with tk.mcp.connect({"e": entry}) as tools, agent_for(api, tools).open() as keeper:
        conversation = await keeper.conversation("c-1")
        seen = [update.fraction async for update in conversation.send("go") if isinstance(update, ToolProgress)]
    assert seen == [0.25, 0.5, 0.75, 1.0]


async def test_killed_in_the_middle_of_an_operation(endpoint: tuple[str, subprocess.Popen[str]]) -> None:
    """SIGKILL of the HTTP server while a call runs: told within a second or so, and nothing is sent twice."""
    url, process = endpoint
    async with tk.mcp.connect({"e": {"url": url, "turnkeeper": {"trusted": True}}}) as tools:
        long = next(tool for tool in tools if tool.name == "e__trigger-long-running-operation")
        echo = next(tool for tool in tools if tool.name == "e__echo")
        reports = anyio.Event()
        context = tk.ToolContext(on_progress=lambda *_: reports.set())
        outcomes: list[Any] = []
        with anyio.fail_after(20):
            async with anyio.create_task_group() as group:

                async def run() -> None:
                    outcomes.append(await run_call(long, {"duration": 60, "steps": 120}, context))

                group.start_soon(run)
                await reports.wait()
                process.send_signal(signal.SIGKILL)
        outcomes.append(await run_call(echo, {"message": "still there?"}))
    assert [outcome.is_error for outcome in outcomes] == [True, True]
    assert "its effect is unknown" in outcomes[0].content
    assert "can't be reached" in outcomes[1].content


async def test_files(filesystem: str, tmp_path: Path) -> None:
    folder = tmp_path / "папка 文件"
    folder.mkdir()
    (folder / "заметка.txt").write_text("купить 🥛\n", encoding="utf-8")
    (tmp_path / "secret.txt").write_text("not yours")
    effects = {"read_text_file": "read", "list_directory": "read", "write_file": "idempotent"}
    entry = {
        "command": filesystem,
        "args": [str(folder)],
        "turnkeeper": {"trusted": True, "effects": effects, "allow": list(effects)},
    }
    async with tk.mcp.connect({"files": entry}) as tools:
        assert {tool.name: tool.effect for tool in tools} == {
            f"files__{name}": effect for name, effect in effects.items()
        }
        read, outside, above, wrote, listing = await called(
            tools,
            ("files__read_text_file", {"path": str(folder / "заметка.txt")}),
            ("files__read_text_file", {"path": str(tmp_path / "secret.txt")}),
            ("files__read_text_file", {"path": str(folder / ".." / "secret.txt")}),
            ("files__write_file", {"path": str(folder / "новое.txt"), "content": "чай ☕"}),
            ("files__list_directory", {"path": str(folder)}),
        )
    assert read["content"] == "купить 🥛\n"
    for refused in (outside, above):
        assert refused["is_error"] is True
        assert "not yours" not in refused["content"]
    assert "is_error" not in wrote or not wrote["is_error"]
    assert (folder / "новое.txt").read_text("utf-8") == "чай ☕"
    assert "заметка.txt" in listing["content"]
    assert "новое.txt" in listing["content"]
