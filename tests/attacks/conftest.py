"""A desk with customers' door, and a model that does whatever the attacker says: the script is the attacker."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

import turnkeeper as tk
from turnkeeper import desk
from turnkeeper.desk import schema
from turnkeeper.desk.record import SYSTEM
from turnkeeper.testing import MessagesAPI, call, reply, script

MEGAN = tk.Principal("customer", "8259147", "confirmed")
JOHN = tk.Principal("customer", "1213210", "confirmed")
ANA, BEN = tk.Principal("staff", "ana"), tk.Principal("staff", "ben")
KEY = b"a key for tests, 32 bytes long.."


class Mailbox:
    """A courier that keeps what it carries."""

    def __init__(self) -> None:
        self.notices: list[desk.Notice] = []

    def send(self, notice: desk.Notice) -> None:
        self.notices.append(notice)

    @property
    def code(self) -> str:
        return str(re.findall(r"\b\d{6}\b", self.notices[-1].text)[0])

    @property
    def to(self) -> list[str]:
        return [notice.to for notice in self.notices]


@dataclasses.dataclass
class Stage:
    """The desk, its door, what it sent, and the time that all of them go by."""

    records: desk.Desk
    door: desk.Door
    mail: Mailbox
    now: datetime = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
    apis: list[MessagesAPI] = dataclasses.field(default_factory=list)

    def time(self) -> float:
        return self.now.timestamp()

    def go_on(self, **by: float) -> None:
        self.now += timedelta(**by)

    @asynccontextmanager
    async def keeper(self, *replies: Any, staff: bool = False, **options: Any) -> AsyncIterator[tk.Keeper]:
        """A keeper whose model gives these replies; of a customer's agent, or the staff's."""
        api = MessagesAPI(script(*replies), strict=False)
        self.apis.append(api)
        settings = {"client": api, "clock": self.time, "model": "claude-opus-4-8", **options}
        agent = (
            desk.agent(self.records, **settings) if staff else desk.customer_agent(self.records, self.door, **settings)
        )
        async with agent.open(self.records.journal_url) as keeper:
            yield keeper

    def proven(self, conversation_id: str, email: str = "megana@gmail.com") -> tk.Principal:
        """A visitor who has confirmed who they are."""
        visitor = self.door.enter()
        self.door.start_confirmation(visitor, conversation_id, "email", email)
        assert self.door.confirm(visitor, conversation_id, self.mail.code).accepted
        return visitor

    def status(self, order: str) -> str:
        found = self.records.order(order)
        assert found is not None
        return found.status.value

    def contact(self, customer_id: str) -> tuple[str, str]:
        with self.records.reading() as repository:
            customer = repository.customer(customer_id)
        assert customer is not None
        return customer.email, customer.phone

    def write(self, table: sa.Table, row: str, **values: str) -> None:
        """What an attacker got into the records, such as a note."""
        with self.records.transaction(SYSTEM) as repository:
            repository.connection.execute(sa.update(table).where(table.c.id == row).values(**values))

    def note(self, order: str, text: str) -> None:
        self.write(schema.orders, order, note=text)

    @property
    def sent(self) -> str:
        """Everything that any model was sent."""
        return json.dumps([request.body for api in self.apis for request in api.requests], ensure_ascii=False)

    def offered(self, request: int = -1) -> list[str]:
        body = self.apis[-1].requests[request].body
        assert body is not None
        return [tool["name"] for tool in body.get("tools", [])]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    mail = Mailbox()
    made: list[Stage] = []

    def clock() -> datetime:
        return made[0].now if made else START

    with (
        desk.open_database(f"sqlite:///{tmp_path}/desk.db", clock=clock) as records,
        desk.Door(records, {"email": mail, "phone": mail}, key=KEY, at_once=True) as door,
    ):
        made.append(Stage(records, door, mail))
        yield made[0]


START = datetime(2026, 11, 30, 11, 0, tzinfo=UTC)


def asks(name: str, id: str | None = None, **given: Any) -> Any:  # noqa: A002 - as `call` has it
    """A reply that holds one call."""
    return reply(call(name, given) if id is None else call(name, given, id=id))


def told(found: tk.Reply) -> list[tuple[str, str]]:
    """How each call of a turn ended, and what the model read of it, in the model's order."""
    blocks = [block for message in found.messages for block in message["content"] if isinstance(block, dict)]
    order = [block["id"] for block in blocks if block.get("type") == "tool_use"]
    calls = sorted(found.calls, key=lambda one: order.index(one.id))
    return [(one.outcome, str(one.content)) for one in calls]
