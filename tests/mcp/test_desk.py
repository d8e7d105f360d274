"""TechNova Desk over MCP: staff and customers by their tokens, one database, each effect once, four eyes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError

import turnkeeper as tk
from tests.mcp.serving import ISSUER, RESOURCE, Issuer, client_of, listening
from turnkeeper import desk as technova
from turnkeeper.cli.exposing import desk_tools
from turnkeeper.mcp import Authorization, http_app
from turnkeeper.mcp.exposing import exposed
from turnkeeper.mcp.offering import KEY

pytestmark = pytest.mark.anyio

STAFF = tk.Principal("staff", "ana")
OTHER = tk.Principal("staff", "олег")


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/desk.db"
    found: str = request.getfixturevalue("postgres_database")
    return found


@pytest.fixture
def stack() -> Iterator[contextlib.ExitStack]:
    with contextlib.ExitStack() as opened:
        yield opened


def words(result: Any) -> str:
    return str(result.content[0].text)


def status_of(url: str, order_id: str) -> str:
    with technova.open_database(url) as records:
        order = records.order(order_id)
        assert order is not None
        return str(order.status.value)


async def test_staff_look_up_and_cancel_once(url: str, stack: contextlib.ExitStack) -> None:
    tools, options = desk_tools(stack, url, four_eyes=False, approve_above=None)
    async with exposed(tools, who=lambda: STAFF, **options) as server, Client(server) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert {"get_user", "cancel_order", "update_contact"} <= set(names)
        assert "cancel_my_order" not in names
        found = await client.call_tool("get_order_by_id", {"order_id": "13579"})
        assert '"status":"Processing"' in words(found)
        ask: dict[str, Any] = {"meta": {KEY: "k-1"}}
        for _ in range(2):  # the same call made again by its key: the first one's result
            cancelled = await client.call_tool("cancel_order", {"order_id": "13579"}, **ask)
            assert not cancelled.is_error
            assert '"cancelled":true' in words(cancelled)
        again = await client.call_tool("cancel_order", {"order_id": "13579"})
        assert again.is_error
    assert status_of(url, "13579") == "Cancelled"


async def test_a_second_pair_of_eyes(url: str, stack: contextlib.ExitStack) -> None:
    """Attack 25: whoever asked can't approve; the effect comes once, after the decision."""
    tools, options = desk_tools(stack, url, four_eyes=False, approve_above="0.01")
    async with exposed(tools, who=lambda: STAFF, **options) as server, Client(server) as client:
        waits = await client.call_tool("cancel_order", {"order_id": "13579"})
        assert waits.is_error
        name = next(word.strip("';") for word in words(waits).split() if "mcp-" in word)
        assert status_of(url, "13579") == "Processing"
        agent = tk.Agent(tools=tools, client=tk.testing.MessagesAPI(tk.testing.script()))
        async with agent.open(options["journal"]) as keeper:
            (approval,) = await keeper.approvals.list()
            assert (approval.tool, approval.requester) == ("cancel_order", STAFF)
            with pytest.raises(tk.errors.ApprovalRefusedError):
                await keeper.approvals.approve(approval.id, by=STAFF)
            await keeper.approvals.approve(approval.id, by=OTHER)
        done = await client.call_tool("call_outcome", {"id": name})
        assert '"cancelled":true' in words(done)
    assert status_of(url, "13579") == "Cancelled"


async def test_customers_with_tokens_reach_their_own_rows_only(tmp_path: Path, stack: contextlib.ExitStack) -> None:
    """Attacks 10 to 12 and 16 at the HTTP door: another's order, a further key, a hidden tool, nobody's token."""
    url = f"sqlite:///{tmp_path}/desk.db"
    tools, options = desk_tools(stack, url, four_eyes=False, approve_above=None)
    with technova.open_database(url) as records:
        order = records.order("13579")
        assert order is not None
        owner = order.customer_id
    issuer = Issuer(tmp_path)
    rules = Authorization(issuer=ISSUER, resource=RESOURCE, keys=str(issuer.file), staff_scope="desk")
    async with http_app(tools, authorization=rules, **options) as app, listening(app) as base:
        door = f"{base}/mcp"
        async with client_of(door, token=issuer.token("2468135")) as client:  # another customer
            names = [tool.name for tool in (await client.list_tools()).tools]
            assert {"get_my_orders", "cancel_my_order", "shop_rules"} <= set(names)
            assert not {"get_user", "cancel_order", "send_code", "update_my_contact"} & set(names)
            theirs = await client.call_tool("cancel_my_order", {"order_id": "13579"})
            nowhere = await client.call_tool("cancel_my_order", {"order_id": "99999"})
            assert theirs.is_error
            assert words(theirs).replace("13579", "…") == words(nowhere).replace("99999", "…")
            more = await client.call_tool("cancel_my_order", {"order_id": "13579", "customer_id": owner})
            assert more.is_error
            with pytest.raises(MCPError, match="Unknown tool: cancel_order"):
                await client.call_tool("cancel_order", {"order_id": "13579"})
        assert status_of(url, "13579") == "Processing"
        async with client_of(door, token=issuer.token(f"#{owner}")) as client:  # like the owner, to a kind reader
            for tool in ("get_my_account", "get_my_orders"):
                assert words(await client.call_tool(tool, {})) == "There is no such account."
        async with client_of(door, token=issuer.token(owner)) as client:
            done = await client.call_tool("cancel_my_order", {"order_id": "13579"})
            assert not done.is_error, words(done)
        async with client_of(door, token=issuer.token("ana", scope="desk")) as client:
            assert "get_user" in [tool.name for tool in (await client.list_tools()).tools]
    assert status_of(url, "13579") == "Cancelled"
