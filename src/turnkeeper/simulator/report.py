"""The ledger as JSON, for programs in other languages: GET /simulator/requests on a served simulator."""

from __future__ import annotations

import dataclasses
from typing import Any

from turnkeeper.simulator.ledger import Ledger, Record

__all__ = ("REPORT_PATH", "report")

REPORT_PATH = "/simulator/requests"


def report(ledger: Ledger) -> dict[str, Any]:
    """Totals, and the kept requests, oldest first. Headers stay out: they hold keys.

    `cost_usd` is a decimal as text, null if a model's price isn't known. Each request has number, time, method, path,
    status, outcome, body (null if it wasn't a JSON object), message (null if none was sent) and refusal (rule, path,
    message, repair; null if it was accepted).
    """
    cost = ledger.cost()
    return {
        "count": ledger.count,
        "cost_usd": None if cost is None else str(cost),
        "usage": dataclasses.asdict(ledger.usage),
        "requests": [_request(record) for record in ledger.records],
    }


def _request(record: Record) -> dict[str, Any]:
    said = record.refusal
    shown = ("number", "time", "method", "path", "status", "outcome", "body", "message")
    refusal = None if said is None else {key: getattr(said, key) for key in ("rule", "path", "message", "repair")}
    return {**{key: getattr(record, key) for key in shown}, "refusal": refusal}
