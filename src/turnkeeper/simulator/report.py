"""The ledger as JSON, for programs in other languages: GET /simulator/requests on a served simulator."""

from __future__ import annotations

import dataclasses
import ipaddress
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

from turnkeeper.simulator.ledger import Ledger, Record

__all__ = ("REPORT_PATH", "refused_host", "report")

REPORT_PATH = "/simulator/requests"


def refused_host(headers: Iterable[tuple[bytes, bytes]]) -> str | None:
    """Why a request is not for this machine by name; None if it is.

    A page of somebody else may point a name of its own at this machine and then read what is served here as its own
    (DNS rebinding). It can't do so with an address, nor with `localhost`.
    """
    hosts = [value.decode("latin-1").strip() for name, value in headers if name.lower() == b"host"]
    try:
        name = (urlsplit(f"//{hosts[0]}").hostname or "") if len(hosts) == 1 else ""
        if name != "localhost":
            ipaddress.ip_address(name)
    except ValueError:
        return "the simulator tells what was asked only under its address, such as http://127.0.0.1:PORT, or localhost"
    return None


def report(ledger: Ledger) -> dict[str, Any]:
    """Totals, and the kept requests, oldest first. Headers stay out: they hold keys.

    `cost_usd` is a decimal as text, null if a model's price isn't known. Each request has number, time, method, path,
    status, outcome, body (null if it wasn't a JSON object, or is not kept any more), message (null if none was sent)
    and refusal (rule, path, message, repair; null if it was accepted).
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
