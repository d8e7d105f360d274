"""The inbox: a person decides on the console, and the customer's conversation goes on by itself."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

import turnkeeper as tk
from tests.web.operators import MODEL, Operator, Shop, Till, opened, refusal
from turnkeeper.core.events import CallRequest, CallStarted, ConversationStarted, ReplyReceived, RequestStarted
from turnkeeper.core.events import TurnStarted as TurnStartedEvent
from turnkeeper.errors import ConversationBusyError
from turnkeeper.journal import MemoryJournal
from turnkeeper.testing import MessagesAPI, call, reply, script
from turnkeeper.web import service

REFUND = reply(call("refund", {"order": "24601", "amount": 500}, id="toolu_r"))


def waiting_shop(shop: Shop, *replies: Any, **options: Any) -> Any:
    """The shop, whose model asks for one refund and then gives those replies."""
    return opened(shop.app(REFUND, *replies, **options))


def ask(customer: Any, operator: Operator) -> tuple[str, dict[str, Any]]:
    """A customer's request that now waits for approval: the conversation, and the card in the inbox."""
    conversation = customer.new()
    customer.say(conversation, "my money!")
    with customer.stream(conversation) as stream:
        stream.until("waiting")
    (card,) = operator.get("inbox")["approvals"]
    return conversation, card


def test_an_approval_shows_what_would_run_and_lets_exactly_that_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "LOOK_SECONDS", 3_600.0)  # it goes on because of the decision, not of a look
    shop = Shop()
    with waiting_shop(shop, "Done.") as (_, customer, ana):
        conversation, card = ask(customer, ana)
        assert card | {"digest": "", "requester": None, "policy_version": ""} == {
            "id": f"toolu_r@{conversation}",
            "conversation": conversation,
            "call": "toolu_r",
            "tool": "refund",
            "effect": "once",
            "text": '{\n  "order": "24601",\n  "amount": 500\n}',
            "digest": "",
            "policy": "always",
            "policy_version": "",
            "requested_at": shop.clock.now,
            "expires_at": shop.clock.now + 86_400,
            "requester": None,
            "requester_level": None,
            "obstacle": None,
        }
        assert card["requester"]["kind"] == "customer"
        assert ana.get("inbox", conversation=conversation)["approvals"] == [card]
        with customer.stream(conversation) as stream:
            stream.until("waiting")
            decided = ana.decide(card, "approve")
            assert decided.json() == {"id": card["id"], "decision": "approve", "by": "ana"}
            assert stream.until("ended")[-2]["text"] == "Done."
        assert shop.refunds == [("24601", 500)]
        assert ana.get("inbox") | {"now": 0} == {"approvals": [], "outcomes": [], "next": None, "now": 0}
        (entry, _) = ana.get("audit")["entries"]
        assert (entry["what"], entry["who"]["id"], entry["tool"]) == ("approved", "ana", "refund")
        counted = 'turnkeeper_web_decisions_total{decision="approve"} 1'
        assert counted in ana.http.get("/metrics").text


def test_the_digest_of_another_approval_and_a_decision_that_comes_twice_change_nothing() -> None:
    shop = Shop()
    with waiting_shop(shop, "Done.") as (base, customer, ana), Operator(base, "ben") as ben:
        conversation, card = ask(customer, ana)
        for decision, more in (("approve", {}), ("deny", {}), ("edit", {"text": "{}"})):
            answer = ana.decide(card | {"digest": "0" * 64}, decision, **more)
            assert refusal(answer) == (403, "approval_refused")
            assert "look at them again" in answer.json()["error"]["message"]
        assert ana.get("inbox")["approvals"] == [card]
        with customer.stream(conversation) as stream:
            assert ana.decide(card, "approve").status_code == 200
            late = ben.decide(card, "deny", reason="no")
            assert late.status_code in (404, 409)  # decided already, or the turn is over by now
            stream.until("ended")
        assert refusal(ana.decide(card, "approve"))[1] in ("approval_decided", "unknown_approval")
        assert shop.refunds == [("24601", 500)]


def test_what_was_decided_while_its_turn_still_waits_is_said_to_be_decided() -> None:
    two = reply(
        call("refund", {"order": "1", "amount": 1}, id="toolu_1"), call("refund", {"order": "2", "amount": 2}, id="t_2")
    )
    shop = Shop()
    with opened(shop.app(two, "Done.")) as (_, customer, ana):
        conversation = customer.new()
        customer.say(conversation, "both!")
        with customer.stream(conversation) as stream:
            stream.until("waiting")
        one, other = ana.get("inbox")["approvals"]
        assert ana.decide(one | {"digest": other["digest"]}, "approve").status_code == 403, "another's digest"
        assert ana.decide(one, "approve").status_code == 200
        again = ana.decide(one, "deny")
        assert refusal(again) == (409, "approval_decided")
        assert again.json()["error"]["message"] == f"approval {one['id']} is decided already"
        assert ana.get("inbox")["approvals"] == [other]
        assert shop.refunds == []


def test_an_approval_that_ran_out_can_not_be_given() -> None:
    shop = Shop()
    with waiting_shop(shop, "Too late.") as (_, customer, ana):
        conversation, card = ask(customer, ana)
        shop.clock.now = card["expires_at"]
        assert ana.sign_in("ana", "пароль ana").status_code == 200
        answer = ana.decide(card, "approve")
        # the turn may have gone on by itself by now: then nothing waits any more
        assert refusal(answer)[1] in ("approval_expired", "approval_decided", "unknown_approval")
        with customer.stream(conversation) as stream:
            assert stream.until("ended")[-2]["text"] == "Too late."
        assert shop.refunds == []
        what = [(one["what"], one["who"]) for one in ana.get("audit", month="2026-12")["entries"]]
        assert ("expired", None) in what


def test_a_reason_to_deny_is_what_the_model_reads() -> None:
    shop = Shop()
    api = MessagesAPI(script(REFUND, "Sorry."))
    with opened(shop.app(api)) as (_, customer, ana):
        conversation, card = ask(customer, ana)
        with customer.stream(conversation) as stream:
            ana.decide(card, "deny", reason="не в этот раз")
            stream.until("ended")
        body = api.requests[-1].body
        assert body is not None
        (result,) = body["messages"][-1]["content"]
        assert result["is_error"] is True
        assert "не в этот раз" in str(result["content"])
        assert shop.refunds == []
        assert ana.get("audit")["entries"][0] | {"at": 0} == {
            "at": 0,
            "what": "denied",
            "who": {"kind": "staff", "id": "ana", "level": "signed_in"},
            "conversation": conversation,
            "seq": 7,
            "tool": "refund",
            "about": "не в этот раз",
        }


def test_edited_arguments_are_checked_and_run_as_they_were_typed() -> None:
    shop = Shop()
    with waiting_shop(shop, "Done.") as (_, customer, ana):
        conversation, card = ask(customer, ana)
        for text, part in (("{", "not JSON"), ("", "not JSON"), (None, "not JSON"), ('{"order": "1"}', "amount")):
            answer = ana.decide(card, "edit", text=text)
            assert answer.status_code == 422, text
            assert part in answer.json()["error"]["message"]
        assert ana.get("inbox")["approvals"] == [card]
        with customer.stream(conversation) as stream:
            exact = 9_007_199_254_740_993  # a browser's number would be one less
            ana.decide(card, "edit", text=f'{{"order": "7", "amount": {exact}}}', reason="less")
            stream.until("ended")
        assert shop.refunds == [("7", exact)]


def test_hidden_characters_in_arguments_are_written_out_and_large_numbers_stand_whole() -> None:
    spoofed = reply(call("refund", {"order": "1\u202e7\U000e0041", "amount": 9_007_199_254_740_993}, id="toolu_r"))
    shop = Shop()
    with opened(shop.app(spoofed, "Done.")) as (_, customer, ana):
        conversation, card = ask(customer, ana)
        shown = '{\n  "order": "1\\u202e7\\udb40\\udc41",\n  "amount": 9007199254740993\n}'
        assert card["text"] == shown
        with customer.stream(conversation) as stream:
            assert ana.decide(card, "edit", text=card["text"]).status_code == 200, "it means the same"
            stream.until("ended")
        assert shop.refunds == [("1\u202e7\U000e0041", 9_007_199_254_740_993)]


def test_whoever_asked_can_not_decide_and_is_told_so_before_they_try() -> None:
    shop = Shop()
    asked_by = tk.Principal("staff", "ana", "signed_in")
    with opened(shop.app(REFUND, "Done.", customer=lambda _: asked_by)) as (base, customer, ana):
        _, card = ask(customer, ana)
        assert card["obstacle"] == "staff 'ana' asked for this call and can't approve it"
        assert refusal(ana.decide(card, "approve")) == (403, "approval_refused")
        assert refusal(ana.decide(card, "deny")) == (403, "approval_refused")
        with Operator(base, "ben") as ben:
            (same,) = ben.get("inbox")["approvals"]
            assert same["obstacle"] is None
            assert ben.decide(same, "deny").status_code == 200


def test_a_rule_of_the_agent_on_who_may_decide_holds_here() -> None:
    rules = {"may_decide": lambda who, approval: who.id == "ben"}
    with waiting_shop(Shop(), agent=rules) as (_, customer, ana):
        _, card = ask(customer, ana)
        assert card["obstacle"] == "staff 'ana' may not decide on refund"
        assert refusal(ana.decide(card, "approve")) == (403, "approval_refused")


def lost_call(at: float) -> list[Any]:
    """A conversation whose process stopped while a mail was being sent."""
    call = '{"type":"tool_use","id":"toolu_m","name":"send_mail","input":{"to":"ana@пример.рф"}}'
    return [
        ConversationStarted(at=at, principal={"kind": "customer", "id": "7", "level": "anonymous"}),
        TurnStartedEvent(at=at, content='"mail ana"', key="k"),
        RequestStarted(at=at, number=1, attempt=1, model=MODEL, max_tokens=100),
        ReplyReceived(
            at=at,
            number=1,
            blocks=(call,),
            stop_reason="tool_use",
            usage={"input_tokens": 1, "output_tokens": 1},
            action="run_calls",
            kept=True,
            calls=(CallRequest(id="toolu_m", name="send_mail", index=0),),
        ),
        CallStarted(at=at + 1, call_id="toolu_m", tool="send_mail", effect="once", key="c:toolu_m"),
    ]


@pytest.mark.parametrize("happened", [True, False])
def test_a_person_says_what_became_of_a_call_that_nobody_knows_of(happened: bool) -> None:
    sent: list[str] = []

    @tk.tool
    def send_mail(to: str) -> str:
        """Send a mail."""
        sent.append(to)
        return "sent"

    journal, clock = MemoryJournal(), Till()
    anyio.run(lambda: journal.append("shop/7", lost_call(clock.now), after=0))
    api = MessagesAPI(script("Then all is well."))
    web = Shop().app(api, agent={"tools": [send_mail], "clock": clock}, journal=journal)
    with opened(web) as (_, _, ana), ana.stream("conversations/shop%2F7/events") as stream:
        stream.until("turn_parked")
        (card,) = ana.get("inbox")["outcomes"]
        assert card == {
            "conversation": "shop/7",
            "call": "toolu_m",
            "tool": "send_mail",
            "effect": "once",
            "text": '{\n  "to": "ana@пример.рф"\n}',
            "key": "c:toolu_m",
            "started_at": clock.now + 1,
            "requester": {"kind": "customer", "id": "7", "level": "anonymous"},
            "obstacle": None,
        }
        said = {"conversation": "shop/7", "call": "toolu_m", "happened": happened, "result": "письмо-7"}
        assert refusal(ana.post("outcomes", **said | {"conversation": "no"})) == (404, "unknown_conversation")
        assert refusal(ana.post("outcomes", **said | {"call": "no"})) == (422, "input")
        assert ana.post("outcomes", **said).json() == {"call": "toolu_m", "happened": happened, "by": "ana"}
        stream.until("turn_ended")
        assert refusal(ana.post("outcomes", **said)) == (422, "input")
        assert sent == ([] if happened else ["ana@пример.рф"])
        body = api.requests[-1].body
        assert body is not None
        assert ("письмо-7" in str(body["messages"][-1])) == happened
        what = "happened" if happened else "did_not_happen"
        entry = ana.get("audit")["entries"][0]
        assert (entry["what"], entry["tool"]) == (what, "send_mail")


def test_a_decision_waits_for_a_driver_that_is_just_leaving() -> None:
    """The turn is seen to wait a moment before its driver has given the conversation back."""
    held: list[str] = []

    class Leaving(MemoryJournal):
        async def acquire(self, conversation_id: str, **more: Any) -> Any:
            if held and held.pop():
                raise ConversationBusyError(f"conversation {conversation_id!r} is driven by another")
            return await super().acquire(conversation_id, **more)

    shop = Shop()
    with waiting_shop(shop, "Done.", journal=Leaving()) as (_, customer, ana):
        conversation, card = ask(customer, ana)
        held.extend(["once", "twice"])
        with customer.stream(conversation) as stream:
            assert ana.decide(card, "approve").status_code == 200
            stream.until("ended")
        assert shop.refunds == [("24601", 500)]
