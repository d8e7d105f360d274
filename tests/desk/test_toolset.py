"""The tools, called as the loop calls them: what the model sees, what it gets, and what the audit says."""

from __future__ import annotations

import json
from typing import Any

import pytest

import turnkeeper as tk
from turnkeeper import desk

ANA = tk.Principal("staff", "ana")
SPEAKER = {
    "id": "97531",
    "customer_id": "2837622",
    "product": "Bluetooth Speaker",
    "quantity": 1,
    "price": "49.99",
    "total": "49.99",
    "status": "Shipped",
}
HEADPHONES = {
    "id": "28164",
    "customer_id": "2837622",
    "product": "Wireless Headphones",
    "quantity": 2,
    "price": "79.99",
    "total": "159.98",
    "status": "Processing",
}
PRIYA = {
    "id": "2837622",
    "name": "Priya Patel",
    "email": "priya@candy.com",
    "phone": "987-654-3210",
    "username": "priya123",
}
EVERY_CALL: list[tuple[str, dict[str, Any], str, str]] = [
    ("get_user", {"key": "email", "value": "priya@candy.com"}, "customer:2837622", "found"),
    ("get_user", {"key": "phone", "value": "555"}, "phone:(3 digits)", "not_found"),
    ("get_order_by_id", {"order_id": "97531"}, "order:97531", "found"),
    ("get_order_by_id", {"order_id": "1"}, "order:1", "not_found"),
    ("get_customer_orders", {"customer_id": "2837622"}, "customer:2837622", "found"),
    ("get_customer_orders", {"customer_id": "1"}, "customer:1", "not_found"),
    ("get_user_info", {"key": "username", "value": "priya123"}, "customer:2837622", "found"),
    ("get_user_info", {"key": "username", "value": "nobody"}, "username:n… (6 characters)", "not_found"),
    ("cancel_order", {"order_id": "28164"}, "order:28164", "cancelled"),
    ("cancel_order", {"order_id": "97531"}, "order:97531", "refused"),
    ("cancel_order", {"order_id": "1"}, "order:1", "not_found"),
    ("update_contact", {"customer_id": "2837622", "phone": "555-0100-200"}, "customer:2837622", "changed"),
    ("update_contact", {"customer_id": "2837622", "email": "priya@candy.com"}, "customer:2837622", "unchanged"),
    ("update_contact", {"customer_id": "2837622", "email": "john@gmail.com"}, "customer:2837622", "refused"),
    ("update_contact", {"customer_id": "1", "email": "a@b.example"}, "customer:1", "not_found"),
]


def context(principal: tk.Principal | None = ANA, call_id: str = "toolu_01") -> tk.ToolContext:
    return tk.ToolContext(principal=principal, conversation_id="c-42", call_id=call_id, key="k")


def call(database: desk.Desk, name: str, ctx: tk.ToolContext | None = None, /, **arguments: Any) -> Any:
    found = {tool.name: tool for tool in desk.tools(database)}
    return found[name](ctx or context(), **arguments)


def refusal(database: desk.Desk, name: str, ctx: tk.ToolContext | None = None, /, **arguments: Any) -> str:
    with pytest.raises(tk.ToolError) as caught:
        call(database, name, ctx, **arguments)
    return caught.value.content


def test_the_model_sees_six_tools_and_nothing_of_who_asks(database: desk.Desk) -> None:
    tools = desk.tools(database)
    assert [(tool.name, tool.effect, tool.input_schema["required"]) for tool in tools] == [
        ("get_user", "read", ["key", "value"]),
        ("get_order_by_id", "read", ["order_id"]),
        ("get_customer_orders", "read", ["customer_id"]),
        ("get_user_info", "read", ["key", "value"]),
        ("cancel_order", "transactional", ["order_id"]),
        ("update_contact", "transactional", ["customer_id"]),
    ]
    for tool in tools:
        assert set(tool.input_schema["properties"]) <= {"key", "value", "order_id", "customer_id", "email", "phone"}
        assert all(part["description"] for part in tool.input_schema["properties"].values())
        assert len(tool.description) > 100
    keys = [tool.input_schema["properties"].get("key", {}).get("enum") for tool in tools]
    assert keys == [["email", "phone", "username"], None, None, ["email", "phone", "username"], None, None]


def test_lookups_give_plain_objects_with_exact_amounts(database: desk.Desk) -> None:
    assert call(database, "get_user", key="email", value="Priya@Candy.com ") == PRIYA
    assert call(database, "get_order_by_id", order_id="97531") == SPEAKER
    assert call(database, "get_customer_orders", customer_id="2837622") == {"orders": [HEADPHONES, SPEAKER]}
    both = {"customer": PRIYA, "orders": [HEADPHONES, SPEAKER]}
    assert call(database, "get_user_info", key="phone", value="987 654 3210") == both
    assert json.loads(json.dumps(both)) == both


def test_a_cancelled_order_comes_back_as_it_is_now(database: desk.Desk) -> None:
    cancelled = {"cancelled": True, "order": {**HEADPHONES, "status": "Cancelled"}}
    assert call(database, "cancel_order", order_id="28164") == cancelled
    assert refusal(database, "cancel_order", order_id="28164") == (
        "Order 28164 is already Cancelled. Nothing was changed."
    )


def test_a_changed_contact_comes_back_old_and_new(database: desk.Desk) -> None:
    answer = call(database, "update_contact", customer_id="2837622", email="priya@почта.рф", phone=None)
    assert answer == {
        "changed": {"email": {"old": "priya@candy.com", "new": "priya@почта.рф"}},
        "customer": {**PRIYA, "email": "priya@почта.рф"},
    }
    assert call(database, "update_contact", customer_id="2837622", email="priya@почта.рф") == {
        "changed": {},
        "customer": {**PRIYA, "email": "priya@почта.рф"},
        "note": "That is what the account has already; nothing was changed.",
    }


@pytest.mark.parametrize(
    ("name", "arguments", "text"),
    [
        (
            "get_user",
            {"key": "email", "value": "x@y.example"},
            "No customer has that email. Check its spelling with the user, or ask for the phone number or username.",
        ),
        (
            "get_order_by_id",
            {"order_id": "99999"},
            "There is no order with that id. Check the number with the user, or look the customer's orders up.",
        ),
        (
            "get_customer_orders",
            {"customer_id": "priya123"},
            "No customer has that id. Ids come from looking the customer up; don't make one up.",
        ),
        (
            "cancel_order",
            {"order_id": "24601"},
            "Order 24601 is Shipped; only orders that are Processing can be cancelled. Nothing was changed.",
        ),
        (
            "update_contact",
            {"customer_id": "2837622", "email": "priya"},
            "An e-mail address looks like name@example.com. Nothing was changed.",
        ),
    ],
)
def test_a_refusal_tells_the_model_why_and_what_to_do(
    database: desk.Desk, name: str, arguments: dict[str, Any], text: str
) -> None:
    assert refusal(database, name, **arguments) == text


def test_every_call_leaves_exactly_one_line_that_says_who_what_and_where(database: desk.Desk) -> None:
    for number, (name, arguments, _subject, outcome) in enumerate(EVERY_CALL):
        ctx = context(call_id=f"toolu_{number}")
        if outcome in ("not_found", "refused"):
            refusal(database, name, ctx, **arguments)
        else:
            call(database, name, ctx, **arguments)
    lines = database.audit()[1:]
    assert [(line.action, line.subject, line.outcome, line.call_id) for line in lines] == [
        (name, subject, outcome, f"toolu_{number}") for number, (name, _, subject, outcome) in enumerate(EVERY_CALL)
    ]
    assert {(line.principal_kind, line.principal_id, line.conversation_id) for line in lines} == {
        ("staff", "ana", "c-42")
    }
    assert {name for name, *_ in EVERY_CALL} == {tool.name for tool in desk.tools(database)}


@pytest.mark.parametrize("principal", [None, tk.Principal("customer", "2837622", level="signed-in")])
def test_nobody_but_staff_gets_an_answer_or_a_change(database: desk.Desk, principal: tk.Principal | None) -> None:
    for name, arguments, *_ in EVERY_CALL:
        text = refusal(database, name, context(principal), **arguments)
        assert text == "This is for TechNova's staff only. Nothing was looked up or changed."
    kind = principal.kind if principal else "nobody"
    assert [(line.principal_kind, line.action, line.subject, line.outcome) for line in database.audit()[1:]] == [
        (kind, name, "desk", "denied") for name, *_ in EVERY_CALL
    ]
    assert call(database, "get_user_info", key="username", value="priya123") == {
        "customer": PRIYA,
        "orders": [HEADPHONES, SPEAKER],
    }


def test_the_application_may_name_who_uses_the_tools_outside_of_a_conversation(database: desk.Desk) -> None:
    tools = {tool.name: tool for tool in desk.tools(database, principal=tk.Principal("staff", "ben"))}
    tools["get_order_by_id"](tk.ToolContext(), order_id="97531")
    tools["get_order_by_id"](context(), order_id="97531")
    with pytest.raises(tk.ToolError):
        tools["get_order_by_id"](context(tk.Principal("customer", "1")), order_id="97531")
    lines = database.audit()[1:]
    assert [(line.principal_id, line.conversation_id, line.call_id) for line in lines] == [
        ("ben", None, None),
        ("ana", "c-42", "toolu_01"),
        ("1", "c-42", "toolu_01"),
    ]


def test_a_call_that_nobody_waits_for_any_more_changes_nothing(database: desk.Desk) -> None:
    ctx = context()
    ctx.state.abandon()
    assert refusal(database, "cancel_order", ctx, order_id="28164") == "The call was cancelled."
    assert call(database, "get_order_by_id", order_id="28164") == HEADPHONES
    assert [line.action for line in database.audit()] == ["seed", "get_order_by_id"]
