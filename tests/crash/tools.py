"""The desk's tools: one of each effect, with points around what they do to the world."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sqlalchemy as sa

import turnkeeper as tk
from tests.crash.points import Points
from tests.crash.scenario import TOOLS, Scenario, result_of
from tests.crash.watching import Pace
from tests.crash.world import World

__all__ = ("BOOK", "TABLE", "tools_of")

TABLE = "CREATE TABLE desk_refunds (conversation TEXT NOT NULL, key TEXT NOT NULL, order_number TEXT NOT NULL)"
BOOK = sa.text("INSERT INTO desk_refunds (conversation, key, order_number) VALUES (:conversation, :key, :order)")


def tools_of(scenario: Scenario, world: World, points: Points, pace: Pace) -> list[tk.Tool]:
    """All of them; the first that the scenario calls asks for approval if the scenario has a decision.

    A slow one waits until the lease has been renewed.
    """
    first = scenario.calls[0].effect if scenario.calls else None

    def act(ctx: tk.ToolContext, effect: str, order: str, do: Callable[[], object] | None = None) -> str:
        tool = TOOLS[effect]
        points.at("effect: before")
        if scenario.slow:
            pace.begun.set()
            pace.renewed.wait(20)
        if do is not None:
            world.note("attempt", tool, ctx.key, order)
            do()
        else:
            world.note("effect", tool, ctx.key, order)
        points.at("effect: after")
        return result_of(tool, order)

    def options(effect: str) -> dict[str, Any]:
        if scenario.decision is None or effect != first:
            return {}
        return {"approval": "always"}

    def shipped(ctx: tk.ToolContext, order: str) -> str | None:
        tool = TOOLS["reconcile"]
        points.at("question to the world: before")
        world.note("question", tool, ctx.key, order)
        found = world.happened(ctx.key)
        points.at("question to the world: after")
        return result_of(tool, order) if found else None

    @tk.tool(effect="read", **options("read"))
    def look_up_order(ctx: tk.ToolContext, order: str) -> str:
        """Look an order up."""
        return act(ctx, "read", order)

    @tk.tool(effect="idempotent", **options("idempotent"))
    def notify_warehouse(ctx: tk.ToolContext, order: str) -> str:
        """Tell the warehouse about an order."""
        return act(ctx, "idempotent", order)

    @tk.tool(effect="transactional", **options("transactional"))
    def book_refund(ctx: tk.ToolContext, order: str) -> str:
        """Book the refund of an order."""
        row = {"conversation": ctx.conversation_id, "key": ctx.key, "order": order}
        return act(ctx, "transactional", order, lambda: ctx.connection.execute(BOOK, row))

    @tk.tool(effect="reconcile", reconcile=shipped, **options("reconcile"))
    def ship_replacement(ctx: tk.ToolContext, order: str) -> str:
        """Ship an order again."""
        return act(ctx, "reconcile", order)

    @tk.tool(effect="once", **options("once"))
    def send_letter(ctx: tk.ToolContext, order: str) -> str:
        """Send the customer of an order a letter."""
        return act(ctx, "once", order)

    return [look_up_order, notify_warehouse, book_refund, ship_replacement, send_letter]
