"""The desk's tools: one of each effect, with points around what they do to the world."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import sqlalchemy as sa

import turnkeeper as tk
from tests.crash.points import Points
from tests.crash.scenario import EFFECTS, TOOLS, Scenario, result_of
from tests.crash.watching import Pace
from tests.crash.world import World

__all__ = ("TABLE", "Desk", "open_desk", "tools_of")

TABLE = "CREATE TABLE desk_refunds (conversation TEXT NOT NULL, key TEXT NOT NULL, order_number TEXT NOT NULL)"
BOOK = sa.text("INSERT INTO desk_refunds (conversation, key, order_number) VALUES (:conversation, :key, :order)")


@dataclass(frozen=True, slots=True)
class Desk:
    """What the tools of this process act on. A slow one waits until the lease has been renewed."""

    scenario: Scenario
    world: World
    points: Points
    pace: Pace

    def act(self, ctx: tk.ToolContext, effect: str, order: str, do: Callable[[], object] | None = None) -> str:
        """Have the effect: a line in the world, or `do` with a line that says it was tried."""
        tool = TOOLS[effect]
        self.points.at("effect: before")
        if self.scenario.slow:
            self.pace.begun.set()
            self.pace.renewed.wait(20)
        if do is not None:
            self.world.note("attempt", tool, ctx.key, order)
            do()
        else:
            self.world.note("effect", tool, ctx.key, order)
        self.points.at("effect: after")
        return result_of(tool, order)

    def ask(self, ctx: tk.ToolContext, order: str) -> str | None:
        """The question whether a replacement was shipped."""
        tool = TOOLS["reconcile"]
        self.points.at("question to the world: before")
        self.world.note("question", tool, ctx.key, order)
        found = self.world.happened(ctx.key)
        self.points.at("question to the world: after")
        return result_of(tool, order) if found else None


_open: list[Desk] = []


def open_desk(desk: Desk) -> None:
    """From now on this process acts on that desk. The tools themselves are made before, once for all processes."""
    _open[:] = [desk]


def look_up_order(ctx: tk.ToolContext, order: str) -> str:
    """Look an order up."""
    return _open[0].act(ctx, "read", order)


def notify_warehouse(ctx: tk.ToolContext, order: str) -> str:
    """Tell the warehouse about an order."""
    return _open[0].act(ctx, "idempotent", order)


def book_refund(ctx: tk.ToolContext, order: str) -> str:
    """Book the refund of an order."""
    row = {"conversation": ctx.conversation_id, "key": ctx.key, "order": order}
    return _open[0].act(ctx, "transactional", order, lambda: ctx.connection.execute(BOOK, row))


def ship_replacement(ctx: tk.ToolContext, order: str) -> str:
    """Ship an order again."""
    return _open[0].act(ctx, "reconcile", order)


def is_shipped(ctx: tk.ToolContext, order: str) -> str | None:
    """What the shipping says of a replacement; None if it knows of none."""
    return _open[0].ask(ctx, order)


def send_letter(ctx: tk.ToolContext, order: str) -> str:
    """Send the customer of an order a letter."""
    return _open[0].act(ctx, "once", order)


def tools_of(scenario: Scenario | None) -> Sequence[tk.Tool]:
    """One of each effect; the one that the scenario calls first asks for approval if it has a decision."""
    asks = scenario.calls[0].effect if scenario is not None and scenario.decision is not None else None
    return [_tool(effect, asks == effect) for effect in EFFECTS]


@functools.cache
def _tool(effect: str, asks: bool) -> tk.Tool:
    approval = "always" if asks else None
    if effect == "read":
        return tk.tool(look_up_order, effect="read", approval=approval)
    if effect == "idempotent":
        return tk.tool(notify_warehouse, effect="idempotent", approval=approval)
    if effect == "transactional":
        return tk.tool(book_refund, effect="transactional", approval=approval)
    if effect == "reconcile":
        return tk.tool(ship_replacement, effect="reconcile", reconcile=is_shipped, approval=approval)
    return tk.tool(send_letter, effect="once", approval=approval)
