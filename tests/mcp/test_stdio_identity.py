"""Attack 16 without a process: over stdio nobody is known, unless whoever starts it says that staff are served."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, MCPError
from mcp.shared.memory import create_client_server_memory_streams

import turnkeeper as tk
from tests.cli.conftest import Run, home, run
from turnkeeper.mcp import serve_stdio

__all__ = ("home", "run")

pytestmark = pytest.mark.anyio

SEEN: list[tk.Principal | None] = []


@tk.tool(effect="read", requires="signed_in")
def whoami(ctx: tk.ToolContext) -> str:
    """Who is served."""
    SEEN.append(ctx.principal)
    return "known"


@tk.tool(effect="read")
def rules() -> str:
    """What anybody may read."""
    return "rules"


@asynccontextmanager
async def served(monkeypatch: pytest.MonkeyPatch, principal: tk.Principal | None) -> AsyncIterator[Client]:
    """The official client over the streams that stand for stdin and stdout."""
    SEEN.clear()
    async with create_client_server_memory_streams() as (ours, theirs):

        @asynccontextmanager
        async def stdio() -> AsyncIterator[Any]:
            yield theirs

        @asynccontextmanager
        async def transport() -> AsyncIterator[Any]:
            yield ours

        monkeypatch.setattr("turnkeeper.mcp.serving.stdio_server", stdio)
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: serve_stdio([whoami, rules], principal=principal))
            async with Client(transport()) as client:
                yield client
            group.cancel_scope.cancel()


async def test_without_a_word_nobody_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    with anyio.fail_after(30):
        async with served(monkeypatch, None) as client:
            listed = [tool.name for tool in (await client.list_tools()).tools]
            with pytest.raises(MCPError, match="Unknown tool: whoami"):
                await client.call_tool("whoami", {})
    assert (listed, SEEN) == (["rules"], [])


async def test_staff_who_are_named_are_served(monkeypatch: pytest.MonkeyPatch) -> None:
    ana = tk.Principal("staff", "ana")
    with anyio.fail_after(30):
        async with served(monkeypatch, ana) as client:
            listed = [tool.name for tool in (await client.list_tools()).tools]
            called = await client.call_tool("whoami", {})
    assert (sorted(listed), bool(called.is_error), SEEN) == (["rules", "whoami"], False, [ana])


@pytest.mark.parametrize(("said", "kind"), [((), None), (("--as", "staff"), "staff")])
def test_the_command_serves_staff_only_where_it_is_said(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch, said: tuple[str, ...], kind: str | None
) -> None:
    found: list[tk.Principal | None] = []

    async def serve(tools: Any, *, principal: tk.Principal | None = None, **options: Any) -> None:
        found.append(principal)

    (home / "shop.py").write_text("import turnkeeper as tk\n\n\n@tk.tool\ndef f() -> str:\n    return ''\n")
    monkeypatch.setattr("turnkeeper.cli.exposing.serve_stdio", serve)
    done = run("mcp", "-T", "shop.py", *said)
    assert (done.exit_code, done.stdout) == (0, "")
    assert [None if one is None else one.kind for one in found] == [kind]
