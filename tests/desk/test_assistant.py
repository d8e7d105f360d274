"""The desk's agent in conversations: with a scripted model, and with the practice model."""

from __future__ import annotations

import json
from typing import Any

import pytest

import turnkeeper as tk
from turnkeeper import desk
from turnkeeper.desk.record import SYSTEM
from turnkeeper.testing import MessagesAPI, call, reply, script, text

ANA = tk.Principal("staff", "ana")


def body_of(api: MessagesAPI, request: int) -> dict[str, Any]:
    body = api.requests[request].body
    assert body is not None
    return body


def results(api: MessagesAPI, request: int) -> list[Any]:
    """What the model was told in that request: each result's text, read as JSON unless it is an error."""
    content = body_of(api, request)["messages"][-1]["content"]
    blocks = [block for block in content if block["type"] == "tool_result"]
    return [block["content"] if block.get("is_error") else json.loads(block["content"]) for block in blocks]


def test_the_prompt_says_what_the_desk_is_and_how_it_talks() -> None:
    for part in ("TechNova", "language", "ask for it", "no tools", "<reply>"):
        assert part in desk.PROMPT
    assert not desk.PROMPT[0].isspace()
    assert len(desk.PROMPT) < 3000


async def ask(database: desk.Desk, api: MessagesAPI, *prompts: str, conversation_id: str = "c-42") -> list[str]:
    """The texts that a user is shown, turn by turn."""
    shown = []
    async with desk.agent(database, client=api).open(database.journal_url) as keeper:
        conversation = await keeper.conversation(conversation_id, principal=ANA)
        for prompt in prompts:
            answer = await conversation.send(prompt)
            assert answer.status == "completed", answer.reason
            shown.append(desk.extract_reply(answer.text))
    api.assert_all_accepted()
    return shown


@pytest.mark.anyio
async def test_an_order_is_cancelled_in_a_conversation_and_the_audit_knows_the_call(database: desk.Desk) -> None:
    api = MessagesAPI(
        script(
            reply(text("Let me look."), call("get_user_info", {"key": "username", "value": "Priya123"}, id="toolu_a")),
            reply(
                call("cancel_order", {"order_id": "28164"}, id="toolu_b"), call("cancel_order", {"order_id": "97531"})
            ),
            "I'm done. <reply>Your headphones are cancelled; the speaker is on its way already.</reply>",
        )
    )
    shown = await ask(database, api, "Cancel my orders! I'm Priya123")
    assert shown == ["Your headphones are cancelled; the speaker is on its way already."]
    assert [order["total"] for order in results(api, 1)[0]["orders"]] == ["159.98", "49.99"]
    cancelled, refused = results(api, 2)
    assert cancelled["order"]["status"] == "Cancelled"
    assert refused == "Order 97531 is Shipped; only orders that are Processing can be cancelled. Nothing was changed."
    lines = database.audit()[1:]
    assert [(line.action, line.subject, line.outcome) for line in lines] == [
        ("get_user_info", "customer:2837622", "found"),
        ("cancel_order", "order:28164", "cancelled"),
        ("cancel_order", "order:97531", "refused"),
    ]
    assert {(line.principal_kind, line.principal_id, line.conversation_id) for line in lines} == {
        ("staff", "ana", "c-42")
    }
    assert {line.call_id for line in lines} >= {"toolu_a", "toolu_b"}


@pytest.mark.anyio
async def test_two_cancels_of_one_order_in_one_reply_cancel_it_once(database: desk.Desk) -> None:
    twice = [call("cancel_order", {"order_id": "13579"}), call("cancel_order", {"order_id": "13579"})]
    api = MessagesAPI(script(reply(*twice), "Done."))
    assert await ask(database, api, "Cancel 13579, twice.") == ["Done."]
    first, second = results(api, 1)
    assert first["cancelled"] is True
    assert second == "Order 13579 is already Cancelled. Nothing was changed."


@pytest.mark.anyio
async def test_what_breaks_inside_stays_inside(database: desk.Desk) -> None:
    """The model learns that something failed, not where the records are. Report B16-tool-error-leaks-dsn.

    https://github.com/nstfkc/gemi/issues/446
    """
    with database.transaction(SYSTEM) as repository:
        repository._connection.exec_driver_sql("DROP TABLE desk_orders")
    api = MessagesAPI(script(reply(call("get_order_by_id", {"order_id": "97531"})), "Sorry."))
    assert await ask(database, api, "Where is 97531?") == ["Sorry."]
    told = results(api, 1)[0]
    assert isinstance(told, str)
    for secret in ("desk_orders", "SELECT", "sqlalchemy", "turnkeeper:", "127.0.0.1", "/tmp"):  # noqa: S108 - not used
        assert secret not in told


@pytest.mark.anyio
async def test_arguments_that_hold_sql_are_only_text(database: desk.Desk) -> None:
    calls = [
        call("get_user", {"key": "username", "value": "'; DROP TABLE desk_customers; --"}),
        call("get_order_by_id", {"order_id": "24601' OR '1'='1"}),
        call("get_customer_orders", {"customer_id": "\u0000\ud800"}),
    ]
    api = MessagesAPI(script(reply(*calls), "Nothing found."), strict=False)
    async with desk.agent(database, client=api).open(database.journal_url) as keeper:
        conversation = await keeper.conversation("c-42", principal=ANA)
        await conversation.send("Robert'); DROP TABLE Students;-- 👧")
    assert len(results(api, 1)) == 3
    assert all(isinstance(told, str) for told in results(api, 1))
    assert [line.outcome for line in database.audit()[1:]] == ["not_found"] * 3


@pytest.mark.anyio
async def test_a_conversation_of_nobodys_uses_the_principal_that_the_application_names(database: desk.Desk) -> None:
    answers = {}
    for principal in (None, ANA):
        looks = reply(call("get_order_by_id", {"order_id": "97531"}), call("cancel_order", {"order_id": "28164"}))
        api = MessagesAPI(script(looks, "There."))
        async with desk.agent(database, client=api, principal=principal).open(database.journal_url) as keeper:
            await (await keeper.conversation()).send("Where is 97531? And cancel 28164.")
        answers[principal] = results(api, 1)
    assert answers[None] == ["This is for TechNova's staff only. Nothing was looked up or changed."] * 2
    assert [answers[ANA][0]["status"], answers[ANA][1]["cancelled"]] == ["Shipped", True]


@pytest.mark.anyio
async def test_settings_of_the_agent_can_be_given(database: desk.Desk) -> None:
    api = MessagesAPI(script("Bonjour"))
    extra = [*desk.tools(database), {"type": "web_search_20250305", "name": "web_search"}]
    made = desk.agent(database, model="claude-haiku-4-5", client=api, system="Short!", tools=extra, max_tokens=99)
    async with made.open(database.journal_url) as keeper:
        assert (await (await keeper.conversation()).send("Salut")).text == "Bonjour"
    body = body_of(api, 0)
    assert (body["model"], body["system"], body["max_tokens"]) == ("claude-haiku-4-5", "Short!", 99)
    assert [tool["name"] for tool in body["tools"]][-1] == "web_search"


@pytest.mark.anyio
async def test_a_reply_streams_through_the_filter_as_it_arrives(database: desk.Desk) -> None:
    api = MessagesAPI(script("Thinking it over… <reply>Здравствуйте! 👋 Чем помочь?</reply>"), chunk=5)
    reply_filter = desk.ReplyFilter()
    async with desk.agent(database, client=api).open(database.journal_url) as keeper:
        conversation = await keeper.conversation("c-42", principal=ANA)
        updates = [update async for update in conversation.send("Привет")]
    shown = [reply_filter.feed(update.text) for update in updates if isinstance(update, tk.updates.TextDelta)]
    assert len([piece for piece in shown if piece]) > 3
    assert "".join(shown) + reply_filter.finish() == "Здравствуйте! 👋 Чем помочь?"


@pytest.mark.anyio
async def test_the_lesson_goes_through_with_the_practice_model(database: desk.Desk) -> None:
    shown = await ask(
        database,
        MessagesAPI(practice=True),
        "Show me my orders. My username is priya123",
        "Cancel the headphones",
        "Cancel 97531",
        "Where is order 24601?",
    )
    for words, answer in zip(
        (("28164", "97531", "49.99"), ("28164", "cancelled"), ("Shipped",), ("Shipped",)), shown, strict=True
    ):
        assert all(word in answer for word in words), answer
    changes = [line for line in database.audit() if line.action == "cancel_order"]
    assert [(line.subject, line.outcome) for line in changes] == [
        ("order:28164", "cancelled"),
        ("order:97531", "refused"),
    ]
