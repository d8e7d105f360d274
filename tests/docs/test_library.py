"""The page on the library leaves out nothing that it is about."""

from __future__ import annotations

import inspect
from dataclasses import fields

import pytest

import turnkeeper as tk
from tests.docs.blocks import ROOT

PAGE = (ROOT / "docs" / "library.md").read_text(encoding="utf-8")

NAMES = {
    "options of Agent": list(inspect.signature(tk.Agent).parameters),
    "fields of Limits": [one.name for one in fields(tk.Limits)],
    "fields of Reply": [one.name for one in fields(tk.Reply) if not one.name.startswith("_")],
    "options of send": [name for name in inspect.signature(tk.Conversation.send).parameters if name != "self"],
    "methods of Agent": [
        name for name, one in inspect.getmembers(tk.Agent) if inspect.isfunction(one) and not name.startswith("_")
    ],
    "methods of Keeper": [
        name for name, one in inspect.getmembers(tk.Keeper) if inspect.isfunction(one) and not name.startswith("_")
    ],
    "updates": [name for name in tk.updates.__all__ if name != "Update"],
    "types of updates": [getattr(tk.updates, name).type for name in tk.updates.__all__ if name != "Update"],
    "statuses": [str(one) for one in tk.TurnStatus],
}
OWN = {"unopened", "conversation"}
"""For the driver's own modules, or named otherwise."""


@pytest.mark.parametrize("what", NAMES)
def test_the_page_names_every_one(what: str) -> None:
    missing = [name for name in NAMES[what] if f"`{name}" not in PAGE and f"{name}`" not in PAGE and name not in OWN]
    assert missing == []
