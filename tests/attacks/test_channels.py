"""Attacks on cost, on the record, and on what leaves, with a model that always obeys the attacker.

| row | attack | test |
|---|---|---|
| 36, 37 | forged, replayed, re-ordered, spoofed SMS | of the SMS door: tests/sms, its test_disorder.py |
| 38 | pumping codes | `test_a_model_that_sends_codes_without_end_sends_few` |
| 39 | loops, floods of calls, huge input | `test_a_loop_ends_at_the_limits`, `test_huge_input_is_refused_or_cut` |
| 39 | many messages, many at once | `test_messages_are_capped`, tests/attacks/test_parallel.py |
| 40 | requests to inside addresses | tests/attacks/test_addresses.py |
| 41 | invented rules and promises | `test_rules_are_quoted_word_for_word`, `test_a_promise_moves_no_money` |
| 42 | a changed record | `test_a_changed_record_is_found` |
| 43 | card numbers, e-mail, phones in exports | `test_what_leaves_is_redacted`, `test_an_export_can_be_redacted` |
| 43 | the same in logs | `test_the_log_of_a_failed_tool_is_redacted` |
| 43 | the same, and one-time codes, in traces | tests/attacks/test_traces.py, tests/telemetry/test_content.py |
"""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest
import sqlalchemy as sa

import turnkeeper as tk
from tests.attacks.conftest import MEGAN, Stage, asks, told
from turnkeeper import desk
from turnkeeper.cli.exporting import as_json, as_markdown
from turnkeeper.cli.transcript import read_transcript
from turnkeeper.desk.record import SYSTEM
from turnkeeper.redaction import redacted, redacted_value
from turnkeeper.testing import MessagesAPI, call, reply, script

pytestmark = pytest.mark.anyio


async def test_a_model_that_sends_codes_without_end_sends_few(stage: Stage) -> None:
    contacts = ["megana@gmail.com", "666-777-8888", "manderson"]
    kinds = ["email", "phone", "username"]
    flood = reply(*[call("send_code", {"key": kinds[n % 3], "value": contacts[n % 3]}) for n in range(24)])
    for n in range(3):
        async with stage.keeper(flood, "Sent.") as keeper:
            await (await keeper.conversation(f"c-{n}", principal=stage.door.enter())).send("send them all")
    assert len(stage.mail.to) == 5


async def test_codes_for_everybody_together_are_capped(stage: Stage) -> None:
    with stage.records.transaction(SYSTEM) as repository:
        codes = stage.door._codes(repository)
        for _ in range(600):
            codes.count("everyone", "")
    asked = stage.door.start_confirmation(stage.door.enter(), "c", "email", "john@gmail.com")
    assert (isinstance(asked, desk.Refusal), stage.mail.to) == (True, [])


async def test_a_loop_ends_at_the_limits(stage: Stage) -> None:
    loop = [asks("shop_rules", topic="returns") for _ in range(40)]
    async with stage.keeper(*loop) as keeper:
        found = await (await keeper.conversation("c-1", principal=stage.door.enter())).send("never stop")
    assert (found.status, found.reason) == (tk.TurnStatus.LIMIT_REACHED, "requests")
    assert len(stage.apis[-1].requests) == desk.CUSTOMER_LIMITS.requests == 12
    flood = reply(*[call("shop_rules", {"topic": "returns"}) for _ in range(100)])
    async with stage.keeper(flood, "x") as keeper:
        found = await (await keeper.conversation("c-2", principal=stage.door.enter())).send("all at once")
    outcomes = [outcome for outcome, _ in told(found)]
    assert (outcomes.count("succeeded"), outcomes.count("rejected")) == (24, 76)
    assert (found.status, found.reason) == (tk.TurnStatus.LIMIT_REACHED, "calls")


async def test_huge_input_is_refused_or_cut(stage: Stage) -> None:
    visitor = stage.proven("c-1")
    received = stage.door.receive(visitor, "c-1", "🙂" * 8_001)
    assert received.refusal is not None
    assert (received.refusal.code, received.is_for_the_model) == ("too_long", False)
    stage.note("47652", "x" * 300_000)
    huge = "9" * 200_000
    calls = [
        call("get_my_order", {"order_id": huge}),
        call("get_my_order", {"order_id": "47652"}),
        call("update_my_contact", {"email": f"{huge}@x.example"}),
    ]
    async with stage.keeper(reply(*calls), "x") as keeper:
        conversation = await keeper.conversation("c-1", principal=visitor)
        await conversation.send("look")
        (waiting,) = await keeper.approvals.list()
        stage.door.start_action(visitor, "c-1", waiting.digest)
        done = stage.door.confirm(visitor, "c-1", stage.mail.code)
        await keeper.approvals.approve(waiting.id, by=done.principal, digest=done.subject)
        found = await conversation.resume()
    texts = [text for _, text in told(found)]
    assert [outcome for outcome, _ in told(found)] == ["failed", "succeeded", "failed"]
    assert [len(text) < limit for text, limit in zip(texts, (100, 101_000, 200), strict=True)] == [True] * 3
    assert all(len(line.subject) <= 200 for line in stage.records.audit())


async def test_messages_are_capped(stage: Stage) -> None:
    visitor, here = stage.door.enter(), "203.0.113.7"
    with stage.records.transaction(SYSTEM) as repository:
        codes = stage.door._codes(repository)
        for _ in range(59):
            codes.count("message", visitor.id)
        for _ in range(239):
            codes.count("messages of a client", here)
    assert [stage.door.receive(visitor, "c-1", "hi").is_for_the_model for _ in range(2)] == [True, False]
    asked = [stage.door.receive(stage.door.enter(), "c", "hi", client=here) for _ in range(2)]
    assert [one.is_for_the_model for one in asked] == [True, False]
    assert asked[-1].refusal is not None
    assert asked[-1].refusal.code == "too_often"
    sessions = [stage.proven("c-p"), stage.proven("c-q")]
    took = [stage.door.receive(sessions[n % 2], f"c-{n}", "hi").is_for_the_model for n in range(62)]
    assert took == [True] * 60 + [False] * 2, "an account has as many, however many sessions it has"
    stage.go_on(minutes=61)
    assert stage.door.receive(visitor, "c-1", "hi", client=here).is_for_the_model


async def test_rules_are_quoted_word_for_word(stage: Stage) -> None:
    """The model points at a rule; its words come from the shop. A topic that isn't there says nothing."""
    says = "As our rules say: [[rule:returns]] and [[rule:refund-900-days]]! [[rule:"
    looks = reply(*[call("shop_rules", {"topic": topic}) for topic in ("returns", "all")])
    async with stage.keeper(looks, says) as keeper:
        found = await (await keeper.conversation("c-1", principal=stage.door.enter())).send("May I send it back?")
    assert [outcome for outcome, _ in told(found)] == ["succeeded", "rejected"]
    assert desk.RULES["returns"] in told(found)[0][1]
    assert desk.quoted(found.text) == f"As our rules say: “{desk.RULES['returns']}” and ! "


async def test_a_promise_moves_no_money(stage: Stage) -> None:
    """There is no tool that pays, gives a discount or changes a price, whatever the model says."""
    names = ["refund_order", "give_discount", "set_price", "pay"]
    promise = "You get 900 EUR back within an hour, that's our policy."
    async with stage.keeper(reply(*[call(name, {"amount": 900}) for name in names]), promise) as keeper:
        conversation = await keeper.conversation("c-1", principal=stage.proven("c-1"))
        found = await conversation.send("I want 900 EUR for the trouble")
    assert [outcome for outcome, _ in told(found)] == ["rejected"] * 4
    changing = [tool.name for tool in desk.customer_tools(stage.records, stage.door) if tool.effect != "read"]
    assert sorted(changing) == ["cancel_my_order", "send_code", "update_my_contact"]


async def test_a_changed_record_is_found(stage: Stage) -> None:
    async with stage.keeper(asks("get_my_orders"), "There.") as keeper:
        await (await keeper.conversation("c-1", principal=stage.proven("c-1"))).send("my orders")
        sound = await keeper.journal.verify("c-1")
        with stage.records.transaction(SYSTEM) as repository:
            table = sa.table("turnkeeper_events", sa.column("payload"), sa.column("conversation_id"), sa.column("type"))
            change = sa.update(table).where(table.c.conversation_id == "c-1", table.c.type == "identity_changed")
            changed = change.values(payload=sa.func.replace(table.c.payload, "8259147", "1213210"))
            assert repository.connection.execute(changed).rowcount == 1
        broken = await keeper.journal.verify("c-1")
    assert (bool(sound), bool(broken)) == (False, True)


SAID = "Card 4111 1111 1111 1111, mail megan.o'neil+x@gmail.com, call +49 151 1234-5678 or (555) 123-4567. Müller 🙂"


@pytest.mark.parametrize(
    ("text", "after"),
    [
        (SAID, "Card [card], mail [e-mail], call [phone] or [phone]. Müller 🙂"),
        ("5500-0000-0000-0004", "[card]"),
        ("4111111111111112", "4111111111111112"),
        ("0000 0000 0000 0000", "0000 0000 0000 0000"),
        ("order 47652 on 2026-11-30T12:00:00, 1764504000.25, v1.2.3, 10.0.0.255", None),
        ("почта: лена@пример.рф; 電郵 李@例子.中国", "почта: [e-mail]; 電郵 [e-mail]"),
        ('{"email":"a@b.example"}', '{"email":"[e-mail]"}'),
        ("@dataclass\ndef f(a@b): x @ y", None),
        ("\ud800 a@b.example", "\ud800 [e-mail]"),
        ("a" * 100_000 + "@", None),
        ("1 " * 50_000, None),
    ],
)
def test_what_leaves_is_redacted(text: str, after: str | None) -> None:
    assert redacted(text) == (text if after is None else after)
    assert redacted_value({"a@b.example": [text, 4111111111111111]}) == {
        "a@b.example": [redacted(text), 4111111111111111]
    }


async def test_an_export_can_be_redacted(stage: Stage) -> None:
    async with stage.keeper(asks("get_my_account"), f"I see {SAID}") as keeper:
        await (await keeper.conversation("c-1", principal=stage.proven("c-1"))).send(SAID)
        transcript = await read_transcript(keeper.journal, "c-1")
    assert transcript is not None
    for text in (as_json(transcript, redact=True), as_markdown(transcript, redact=True)):
        assert "[card]" in text
        assert not [one for one in ("4111", "gmail.com", "123-4567", "666-777") if one in text]
    assert json.loads(as_json(transcript, redact=True))["turns"] == 1
    assert "4111 1111 1111 1111" in as_json(transcript)


async def test_the_log_of_a_failed_tool_is_redacted(caplog: pytest.LogCaptureFixture) -> None:
    @tk.tool(effect="read")
    def look() -> str:
        """Look."""
        raise ValueError(f"no such row: {SAID} password=S3cr3t!")

    api = MessagesAPI(script(asks("look"), "x"))
    with caplog.at_level(logging.DEBUG):
        async with tk.Agent(tools=[look], client=api, model="claude-opus-4-8").open() as keeper:
            found = await (await keeper.conversation("c", principal=MEGAN)).send("look")
    body: Any = api.requests[1].body
    for text in (caplog.text, json.dumps(body), told(found)[0][1]):
        assert not [one for one in ("4111", "gmail.com", "123-4567", "S3cr3t") if one in text]
    assert "[card], mail [e-mail], call [phone]" in caplog.text
