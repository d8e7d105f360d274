"""A desk made of two dicts: the lesson's customers and orders, its tools, and the loop that runs them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from turnkeeper.simulator.practice import PracticeModel

__all__ = ("DESK_TOOLS", "DOOR_TOOLS", "STRING", "Conversation", "FakeDesk", "definition")

CUSTOMERS: dict[str, dict[str, Any]] = {
    row["id"]: row
    for row in (
        {
            "id": "1213210",
            "name": "John Doe",
            "email": "john@gmail.com",
            "phone": "123-456-7890",
            "username": "johndoe",
        },
        {
            "id": "2837622",
            "name": "Priya Patel",
            "email": "priya@candy.com",
            "phone": "987-654-3210",
            "username": "priya123",
        },
        {
            "id": "8259147",
            "name": "Megan Anderson",
            "email": "megana@gmail.com",
            "phone": "666-777-8888",
            "username": "manderson",
        },
        {"id": "5555555", "name": "Nora Nöl", "email": "nora@example.com", "phone": "555-000-1111", "username": "nora"},
    )
}
ORDERS: dict[str, dict[str, Any]] = {
    row[0]: dict(zip(("id", "customer_id", "product", "quantity", "price", "status"), row, strict=True))
    for row in (
        ("24601", "1213210", "Wireless Headphones", 1, 79.99, "Shipped"),
        ("13579", "1213210", "Smartphone Case", 2, 19.99, "Processing"),
        ("90357", "1213210", "Smartphone Case", 1, 19.99, "Shipped"),
        ("97531", "2837622", "Bluetooth Speaker", 1, 49.99, "Shipped"),
        ("28164", "2837622", "Wireless Headphones", 2, 79.99, "Processing"),
        ("47652", "8259147", "Smartwatch", 1, 199.99, "Processing"),
    )
}


def definition(name: str, description: str = "", **properties: Any) -> dict[str, Any]:
    """A tool definition; a property whose name ends in `_` is optional (the sign is dropped)."""
    return {
        "name": name,
        "description": description,
        "input_schema": {
            "type": "object",
            "properties": {key.rstrip("_"): value for key, value in properties.items()},
            "required": [key for key in properties if not key.endswith("_")],
        },
    }


STRING = {"type": "string"}
KEY = {"type": "string", "enum": ["email", "phone", "username"]}
DESK_TOOLS = [
    definition("get_user", "Look up a customer by e-mail, phone or username.", key=KEY, value=STRING),
    definition("get_order_by_id", "Look up one order.", order_id=STRING),
    definition("get_customer_orders", "List a customer's orders.", customer_id=STRING),
    definition("cancel_order", "Cancel an order that is still being processed.", order_id=STRING),
    definition("get_user_info", "Customer data.", key=KEY, value=STRING),
    definition("update_contact", "Change e-mail or phone.", customer_id=STRING, email_=STRING, phone_=STRING),
]
DOOR_TOOLS = [  # the customers' own door: the session says who it is
    definition("get_my_account"),
    definition("get_order_by_id", order_id=STRING),
    definition("get_customer_orders"),
    definition("cancel_order", order_id=STRING),
    definition("update_contact", email_=STRING, phone_=STRING),
]


class RefusedError(Exception):
    """The tool answers with an error result."""


@dataclass
class FakeDesk:
    """The tools' work on copies of the rows; `signed_in` is the customer of the door without ids."""

    signed_in: str | None = None
    render: Callable[[Any], str] = json.dumps
    customers: dict[str, dict[str, Any]] = field(default_factory=lambda: deepcopy(CUSTOMERS))
    orders: dict[str, dict[str, Any]] = field(default_factory=lambda: deepcopy(ORDERS))

    def run(self, name: str, given: Mapping[str, Any]) -> tuple[str, bool]:
        """The result's text and whether it is an error."""
        try:
            return self.render(getattr(self, f"do_{name}")(**given)), False
        except RefusedError as refused:
            return str(refused), True

    def do_get_user(self, key: str, value: str) -> Any:
        found = [row for row in self.customers.values() if row[key].casefold() == value.casefold()]
        if not found:
            raise RefusedError(f"Couldn't find a user with {key} of {value}.")
        return found[0]

    do_get_user_info = do_get_user

    def do_get_my_account(self) -> Any:
        return self.customers[self.signed_in or ""]

    def do_get_order_by_id(self, order_id: str) -> Any:
        if order_id not in self.orders:
            raise RefusedError(f"Order {order_id} was not found.")
        return self.orders[order_id]

    def do_get_customer_orders(self, customer_id: str | None = None) -> Any:
        owner = customer_id or self.signed_in
        return [row for row in self.orders.values() if row["customer_id"] == owner]

    def do_cancel_order(self, order_id: str) -> Any:
        order = self.do_get_order_by_id(order_id)
        if order["status"] == "Cancelled":
            raise RefusedError(f"Order {order_id} is already cancelled.")
        if order["status"] != "Processing":
            raise RefusedError(f"Order {order_id} has already shipped and can't be cancelled.")
        order["status"] = "Cancelled"
        return order

    def do_update_contact(self, customer_id: str | None = None, **values: str) -> Any:
        row = self.customers[customer_id or self.signed_in or ""]
        row.update(values)
        return row


@dataclass
class Conversation:
    """Drives the practice model the way an agent does: calls until it answers."""

    tools: list[dict[str, Any]]
    desk: FakeDesk = field(default_factory=FakeDesk)
    system: str = ""
    tool_choice: dict[str, Any] | None = None
    model: PracticeModel = field(default_factory=PracticeModel)
    messages: list[dict[str, Any]] = field(default_factory=list)
    calls: list[list[tuple[str, dict[str, Any]]]] = field(default_factory=list)

    def request(self) -> dict[str, Any]:
        """The request body for the messages so far."""
        choice = {"tool_choice": self.tool_choice} if self.tool_choice else {}
        return {
            "model": "claude-opus-5-5",
            "max_tokens": 1024,
            "system": self.system,
            "tools": self.tools,
            "messages": self.messages,
            **choice,
        }

    def send(self, text: str, *, rounds: int = 10) -> str:
        """One turn: the final text; the rounds of calls are in `calls`."""
        self.calls = []
        self.messages.append({"role": "user", "content": text})
        for _ in range(rounds):
            reply = self.model.answer(self.request())
            content = [
                {**block, "id": f"toolu_{len(self.messages)}_{index}"} if block["type"] == "tool_use" else block
                for index, block in enumerate(reply["content"])
            ]
            self.messages.append({"role": "assistant", "content": content})
            if reply["stop_reason"] != "tool_use":
                return str(content[0]["text"])
            self.calls.append([(block["name"], block["input"]) for block in content])
            self.messages.append({"role": "user", "content": [self.result(block) for block in content]})
        raise AssertionError("the practice model did not come to an end")

    def result(self, block: Mapping[str, Any]) -> dict[str, Any]:
        """The result block for a call."""
        text, is_error = self.desk.run(block["name"], block["input"])
        return {"type": "tool_result", "tool_use_id": block["id"], "content": text, "is_error": is_error}
