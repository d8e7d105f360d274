"""TechNova Desk behind the web door, for tests: its customers, the mail they read, the time that everything goes by."""

from __future__ import annotations

import contextlib
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from starlette.applications import Starlette

from tests.web.served import Customer
from turnkeeper import desk
from turnkeeper.testing import MessagesAPI, script
from turnkeeper.web import app

__all__ = ("HelpDesk", "Visitor")


class Visitor(Customer):
    """A customer, with what is beside the chat."""

    def proof(self, conversation: str) -> dict[str, Any]:
        """What the page shows of it."""
        answer = self.http.get(f"/api/conversations/{conversation}/proof")
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def prove(self, conversation: str, what: str, **body: Any) -> dict[str, Any]:
        """Post to one of the paths beside the chat."""
        answer = self.http.post(f"/api/conversations/{conversation}/proof/{what}", json=body)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def turn(self, conversation: str, text: str, key: str) -> list[dict[str, Any]]:
        """Say something; the items of its turn, to its end or to where it waits."""
        seen = self.last(conversation)
        assert self.say(conversation, text, key).json()["status"] == "queued"
        return self.rest(conversation, seen)

    def last(self, conversation: str) -> int:
        """The number of the conversation's newest event."""
        answer = self.http.get(f"/api/conversations/{conversation}")
        return int(answer.json()["last"]) if answer.status_code == 200 else 0

    def rest(self, conversation: str, seen: int) -> list[dict[str, Any]]:
        """What comes behind that event, until the turn ends or waits."""
        items: list[dict[str, Any]] = []
        with self.stream(conversation, **{"last-event-id": str(seen)}) as stream:
            while not items or items[-1]["type"] not in ("ended", "waiting"):
                item = stream.next()[1]
                if "seq" in item:
                    items.append(item)
        return items


class HelpDesk:
    """The desk and its door. `now` is the time where `stands` is True, else it goes on by itself."""

    def __init__(self, folder: Path, *, stands: bool = False) -> None:
        self.url = f"sqlite:///{folder}/desk.db"
        self.now = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
        self.notices: list[desk.Notice] = []
        self._stands = stands
        self._open = contextlib.ExitStack()

    def send(self, notice: desk.Notice) -> None:
        """It is the courier as well."""
        self.notices.append(notice)

    @property
    def code(self) -> str:
        """The code in the newest message."""
        return str(re.findall(r"\b\d{6}\b", self.notices[-1].text)[0])

    def time(self) -> datetime:
        """What all clocks say."""
        return self.now if self._stands else datetime.now(UTC)

    def go_on(self, **by: float) -> None:
        """Let time pass."""
        self.now += timedelta(**by)

    def app(self, *replies: Any, tokens: desk.TokenRules | None = None, **options: Any) -> Starlette:
        """The web door of the desk; a scripted model where there are replies, else the practice model."""
        self.api = MessagesAPI(script(*replies), strict=False) if replies else MessagesAPI(practice=True)
        agent = desk.customer_agent(
            self.records, self.door(tokens), client=self.api, clock=lambda: self.time().timestamp()
        )
        given = {"secret": "s" * 32, "make_filter": desk.ReplyFilter, **options}
        return app(agent, codes=self.desk_door, journal=self.records.journal_url, **given)

    def door(self, tokens: desk.TokenRules | None = None) -> desk.Door:
        """The customers' door; the newest stays as `desk_door`."""
        couriers = {"email": self, "phone": self}
        made = desk.Door(self.records, couriers, key=b"k" * 32, tokens=tokens, at_once=True)  # type: ignore[arg-type]
        self.desk_door = self._open.enter_context(made)
        return made

    def __enter__(self) -> HelpDesk:
        self.records = self._open.enter_context(desk.open_database(self.url, clock=self.time))
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()
