"""What the tests of MCP share: small servers over stdio and in this process, an agent over the simulator."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import anyio
import mcp_types
import pytest
from mcp.server import Server
from mcp.server.context import ServerRequestContext

import turnkeeper as tk
from turnkeeper.testing import MessagesAPI, call, reply, script

MODEL = "claude-opus-4-8"
SMALL_SERVER = Path(__file__).with_name("small_server.py")
ANYTHING: dict[str, Any] = {"type": "object", "additionalProperties": True}

Result = mcp_types.CallToolResult


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Small:
    """The entry of a small server over stdio, and what it noted."""

    def __init__(self, ledger: Path) -> None:
        self.ledger = ledger

    def entry(self, *arguments: str, **own: Any) -> dict[str, Any]:
        return {
            "command": sys.executable,
            "args": [str(SMALL_SERVER), str(self.ledger), *arguments],
            # most tests are not about who may be believed
            "turnkeeper": {"trusted": True, **own},
        }

    @property
    def notes(self) -> list[str]:
        return self.ledger.read_text("utf-8").splitlines() if self.ledger.exists() else []

    async def noted(self, beginning: str) -> None:
        """Wait until the server has noted a line that begins so."""
        while not any(note.startswith(beginning) for note in self.notes):  # noqa: ASYNC110 - another process writes
            await anyio.sleep(0.01)


@pytest.fixture
def small(tmp_path: Path) -> Small:
    return Small(tmp_path / "ledger.txt")


def text(*texts: str, **more: Any) -> Result:
    content: list[Any] = [mcp_types.TextContent(text=one) for one in texts]
    return Result(content=content, **more)


def served(
    tools: Mapping[str, Result | Callable[[Mapping[str, Any]], Result]] | list[mcp_types.Tool],
    *,
    calls: list[tuple[str, Any]] | None = None,
) -> Server[Any]:
    """A server of the official library in this process: tools by name with what each answers, or their definitions."""
    definitions = tools if isinstance(tools, list) else [described(name) for name in tools]

    async def list_tools(
        ctx: ServerRequestContext[Any], params: mcp_types.PaginatedRequestParams | None
    ) -> mcp_types.ListToolsResult:
        return mcp_types.ListToolsResult(tools=definitions)

    async def call_tool(ctx: ServerRequestContext[Any], params: mcp_types.CallToolRequestParams) -> Result:
        if calls is not None:
            calls.append((params.name, params.arguments))
        answer = text("done") if isinstance(tools, list) else tools[params.name]
        return answer(params.arguments or {}) if callable(answer) else answer

    return Server("test", on_list_tools=list_tools, on_call_tool=call_tool)


def described(name: str, description: str = "Does something.", **more: Any) -> mcp_types.Tool:
    return mcp_types.Tool(**{"name": name, "description": description, "input_schema": ANYTHING, **more})


def agent_for(api: MessagesAPI, tools: Any, **options: Any) -> tk.Agent:
    return tk.Agent(client=api, model=MODEL, max_tokens=1000, tools=tools, **options)


async def called(tools: Any, *calls: tuple[str, Mapping[str, Any]], **options: Any) -> list[dict[str, Any]]:
    """The results of calls that a scripted model makes one after another, as the API was sent them."""
    script_ = [reply(call(name, dict(arguments), id=f"toolu_{n}")) for n, (name, arguments) in enumerate(calls)]
    api = MessagesAPI(script(*script_, "done"))
    found = await agent_for(api, tools, **options).run("go")
    assert found.text == "done"
    api.assert_all_accepted()
    last = api.requests[-1].body
    assert last is not None
    return [
        block
        for message in last["messages"]
        for block in (message["content"] if isinstance(message["content"], list) else ())
        if block["type"] == "tool_result"
    ]
