"""The conversation that every program holds: a desk's prompt and tools, and what fifty messages of a customer say."""

from __future__ import annotations

import importlib.metadata
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

__all__ = ("MAX_TOKENS", "MESSAGES", "MODEL", "SYSTEM", "TOOLS", "play")

MODEL = "claude-sonnet-5"
MAX_TOKENS = 4_000
SYSTEM = (Path(__file__).resolve().parents[2] / "src" / "turnkeeper" / "desk" / "prompt.md").read_text("utf-8").strip()
MESSAGES = [
    f"Hello again, this is about order {24600 + number}. Can you tell me what is in it, where it is right now, and"
    f" whether I can still change the delivery address? Мне нужно знать до пятницы, спасибо. ({number})"
    for number in range(1, 51)
]


def _order(number: str) -> dict[str, object]:
    lines = [
        {"sku": f"TN-{n:04}", "name": f"Cable, braided, {n} m", "quantity": n, "cents": 1299 * n} for n in range(1, 6)
    ]
    return {"number": number, "status": "in transit", "carrier": "DHL", "lines": lines, "placed": "2026-11-23"}


def find_customer(customer_id: str) -> str:
    """Look a customer up.

    Args:
        customer_id: The customer's number.
    """
    return json.dumps({"id": customer_id, "name": "Ольга Иванова", "email": "olga@example.org", "orders": 50})


def get_order(number: str) -> str:
    """Everything about one order: its lines, its status, where it is.

    Args:
        number: The order's number, five digits.
    """
    return json.dumps(_order(number), ensure_ascii=False)


def cancel_order(number: str, reason: str) -> str:
    """Cancel an order that has not been sent yet.

    Args:
        number: The order's number, five digits.
        reason: What the customer says.
    """
    return json.dumps({"number": number, "cancelled": False, "why": reason})


def update_contact(customer_id: str, email: str) -> str:
    """Change where a customer is written to.

    Args:
        customer_id: The customer's number.
        email: The new address.
    """
    return json.dumps({"id": customer_id, "email": email})


TOOLS: list[Callable[..., str]] = [find_customer, get_order, cancel_order, update_contact]


def play(converse: Callable[[str], Iterator[str]], *packages: str) -> None:
    """Hold the conversation with the API at the URL of the command line; `converse` gives the answers in turn."""
    answers = list(converse(sys.argv[1]))
    versions = {name: importlib.metadata.version(name) for name in packages}
    print(json.dumps({"answers": len(answers), "last": answers[-1], "versions": versions}), flush=True)
