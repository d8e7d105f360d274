"""The console's figures and records: what conversations cost by day, who decided what, and both as CSV."""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from turnkeeper.driver.spending import Total
from turnkeeper.web.answers import JSONAnswer, RefusedError
from turnkeeper.web.cleaning import visible
from turnkeeper.web.console_conversations import asked_number, who
from turnkeeper.web.door import Door, address_of
from turnkeeper.web.ledger import Decision, Ledger, Line
from turnkeeper.web.service import Service
from turnkeeper.web.sessions import Session
from turnkeeper.web.spreadsheets import csv_bytes
from turnkeeper.web.stafflog import Visit

__all__ = ("audit", "audit_csv", "usage", "usage_csv")

_MOST_READ = 400
"""Conversations that one request reads to bring the figures up to date; the next one goes on."""
_MOST_DAYS = 400
_MOST_LISTED = 20
_MONTH = re.compile(r"\d{4}-(0[1-9]|1[0-2])")


async def usage(request: Request, door: Door, session: Session) -> Response:
    """What was spent in the last `days` days (UTC): by day, model, tool, and the dearest conversations.

    `complete` is False while there are conversations that were not read yet: ask again, the figures grow.
    """
    del session
    service = door.running
    days = max(asked_number(request, "days", 30, _MOST_DAYS), 1)
    complete = await service.ledger.catch_up(most=_MOST_READ)
    until = datetime.fromtimestamp(service.now(), UTC).date()
    since = until - timedelta(days=days - 1)
    begin, end = since.isoformat(), until.isoformat()
    spent = _spent(service.ledger, begin, end)
    whole = Total(name="")
    for total in spent["day"].values():
        whole.join(total)
    each = _each(service.ledger, begin, end)
    every = [(since + timedelta(days=number)).isoformat() for number in range(days)]
    return JSONAnswer(
        {
            "since": since.isoformat(),
            "until": until.isoformat(),
            "complete": complete,
            "left_out": service.ledger.left_out,
            "conversations": len(each),
            "total": _figures(whole),
            "days": [{"day": day, **_figures(spent["day"].get(day, Total(name="")))} for day in every],
            "models": _listed(spent["model"], "model"),
            "tools": _listed(spent["tool"], "tool"),
            "dearest": [{"id": line.conversation, **_figures(total)} for line, total in _dearest(each, begin, end)],
        }
    )


def _spent(ledger: Ledger, since: str, until: str) -> dict[str, dict[str, Total]]:
    found: dict[str, dict[str, Total]] = {"day": {}, "model": {}, "tool": {}}
    for (day, model, tool), total in ledger.spent.items():
        if since <= day <= until:
            for by, name in (("day", day), ("model", model), ("tool", tool)):
                found[by].setdefault(name, Total(name=name)).join(total)
    return found


def _each(ledger: Ledger, since: str, until: str) -> list[tuple[Fraction, Line]]:
    """What each conversation cost in those days; without those that cost nothing then, nor were billed."""
    found = []
    for line in ledger.lines:
        costs = [total.cost for (day, _, _), total in line.spent.items() if since <= day <= until]
        if costs:
            found.append((sum(costs, Fraction(0)), line))
    return found


def _dearest(each: list[tuple[Fraction, Line]], since: str, until: str) -> list[tuple[Line, Total]]:
    dearest = heapq.nsmallest(_MOST_LISTED, each, key=lambda one: (-one[0], one[1].conversation))
    rows = []
    for _, line in dearest:
        whole = Total(name=line.conversation)
        for (day, _, _), total in line.spent.items():
            if since <= day <= until:
                whole.join(total)
        rows.append((line, whole))
    return rows


def _figures(total: Total) -> dict[str, Any]:
    tokens = total.tokens
    return {
        "requests": round(float(total.requests), 3),
        "input_tokens": round(tokens["input_tokens"]),
        "cached_tokens": round(tokens["cache_read_input_tokens"]),
        "written_tokens": round(tokens["cache_write_5m_input_tokens"] + tokens["cache_write_1h_input_tokens"]),
        "output_tokens": round(tokens["output_tokens"]),
        "cost": f"{total.usd:f}",
        "priced": total.priced,
    }


def _listed(totals: dict[str, Total], name: str) -> list[dict[str, Any]]:
    dearest = sorted(totals.values(), key=lambda one: (-one.cost, one.name))
    return [{name: visible(one.name), **_figures(one)} for one in dearest]


async def usage_csv(request: Request, door: Door, session: Session) -> Response:
    """Every day, model, tool and conversation that something was spent on, one row each."""
    service = door.running
    days = max(asked_number(request, "days", 30, _MOST_DAYS), 1)
    await _all(service)
    since = (datetime.fromtimestamp(service.now(), UTC).date() - timedelta(days=days - 1)).isoformat()
    names = ("day", "conversation", "model", "tool")
    rows = sorted(
        ((day, line.conversation, model, tool), total)
        for line in service.ledger.lines
        for (day, model, tool), total in line.spent.items()
        if day >= since
    )
    figures = [([visible(one) for one in key], _figures(total)) for key, total in rows]
    head = [*names, *_figures(Total(name=""))]
    table = [[*key, *(_plain(value) for value in found.values())] for key, found in figures]
    return await _download(request, door, session, "usage.csv", head, table)


async def _all(service: Service) -> None:
    """Read everything that changed. A new conversation may come meanwhile: it is not waited for."""
    for _ in range(100):
        if await service.ledger.catch_up(most=_MOST_READ):
            return


def _plain(value: Any) -> str | int | float:
    return ("yes" if value else "no") if isinstance(value, bool) else value


async def _download(
    request: Request, door: Door, session: Session, name: str, head: list[str], rows: Iterable[list[Any]]
) -> Response:
    await door.running.staff_log.write("exported", session.principal.id, f"{name} to {address_of(request)}")
    disposition = {"content-disposition": f'attachment; filename="{name}"'}
    return Response(csv_bytes(head, rows), media_type="text/csv; charset=utf-8", headers=disposition)


# ----- who did what ---------------------------------------------------------------------------------------------------


async def audit(request: Request, door: Door, session: Session) -> Response:
    """A page of what people did in a `month` (`2026-12`, UTC), the newest first: decisions, sign-ins, exports."""
    del session
    service = door.running
    month = _month(request, service)
    offset = asked_number(request, "offset", 0, 10_000_000)
    limit = max(asked_number(request, "limit", 100, 500), 1)
    complete = await service.ledger.catch_up(most=_MOST_READ)
    found = await _record(service, month)
    begin = date.fromisoformat(f"{month}-01")
    return JSONAnswer(
        {
            "month": month,
            "before": (begin - timedelta(days=1)).strftime("%Y-%m"),
            "complete": complete,
            "left_out": service.ledger.left_out,
            "entries": found[offset : offset + limit],
            "next": offset + limit if len(found) > offset + limit else None,
            "now": service.now(),
        }
    )


def _month(request: Request, service: Service) -> str:
    month = request.query_params.get("month") or datetime.fromtimestamp(service.now(), UTC).strftime("%Y-%m")
    if not _MONTH.fullmatch(month) or month < "1970-02":
        raise RefusedError(422, "input", "month is a year and a month, such as 2026-12")
    return month


async def _record(service: Service, month: str) -> list[dict[str, Any]]:
    begin = datetime.fromisoformat(f"{month}-01").replace(tzinfo=UTC)
    after = (begin + timedelta(days=32)).replace(day=1)
    entries = [
        _decided(one)
        for line in service.ledger.lines
        for one in line.decisions
        if begin.timestamp() <= one.at < after.timestamp()
    ]
    entries += [_visited(one) for one in await service.staff_log.visits(month)]
    return sorted(entries, key=lambda one: (-one["at"], one["conversation"] is None, -(one["seq"] or 0)))


def _decided(one: Decision) -> dict[str, Any]:
    return {
        "at": one.at,
        "what": one.what,
        "who": who(one.by),
        "conversation": one.conversation,
        "seq": one.seq,
        "tool": visible(one.tool),
        "about": visible(one.reason),
    }


def _visited(one: Visit) -> dict[str, Any]:
    name = {"kind": "staff", "id": visible(one.who), "level": ""}
    return {
        "at": one.at,
        "what": one.what,
        "who": name,
        "conversation": None,
        "seq": None,
        "tool": "",
        "about": visible(one.about),
    }


async def audit_csv(request: Request, door: Door, session: Session) -> Response:
    """The whole month, one row each."""
    service = door.running
    month = _month(request, service)
    await _all(service)
    head = ["time", "what", "who", "conversation", "event", "tool", "about"]
    table = [
        [
            datetime.fromtimestamp(one["at"], UTC).isoformat(timespec="seconds"),
            one["what"],
            "" if one["who"] is None else f"{one['who']['kind']} {one['who']['id']}",
            visible(one["conversation"] or ""),
            one["seq"],
            one["tool"],
            one["about"],
        ]
        for one in await _record(service, month)
    ]
    return await _download(request, door, session, f"record-{month}.csv", head, table)
