"""Who may decide on a call, and what the rule is asked with: approvals and unknown outcomes alike."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

import turnkeeper as tk
from tests.driver.conftest import Make
from turnkeeper.core.identity import same_person
from turnkeeper.driver.people import Approval
from turnkeeper.errors import ApprovalRefusedError, InputError, UnknownApprovalError
from turnkeeper.journal import MemoryJournal
from turnkeeper.testing import MessagesAPI, call, reply, script

pytestmark = pytest.mark.anyio

ANA, BORIS = tk.Principal("staff", "ana"), tk.Principal("staff", "борис")
ANA_ELSEWHERE = tk.Principal("staff", "ana", "step_up")
ASKED = {"to": "ana@пример.рф", "amount": 70}


class Mail:
    """A tool of effect `once` whose first call is interrupted."""

    def __init__(self, approval: str = "never") -> None:
        self.approval = approval
        self.sent: list[tuple[str, int]] = []
        self.began = anyio.Event()

    def tools(self) -> list[tk.Tool]:
        @tk.tool(approval=self.approval)
        async def send(to: str, amount: int) -> str:
            """Send money by mail."""
            self.sent.append((to, amount))
            if len(self.sent) == 1:
                self.began.set()
                await anyio.sleep_forever()
            return "sent"

        return [send]


async def lost(agent: tk.Agent, journal: MemoryJournal, mail: Mail, who: tk.Principal | None, **edit: Any) -> None:
    """A conversation of `who` that stopped while it sent, taken up again: it asks for a person."""
    async with agent.open(journal) as keeper, anyio.create_task_group() as group:
        conversation = await keeper.conversation("c", principal=who)
        if mail.approval == "always":
            await conversation.send("go")
            (waiting,) = await keeper.approvals.list()
            await keeper.approvals.edit(waiting.id, by=BORIS, **edit)

        async def run() -> None:
            await (conversation.resume() if mail.approval == "always" else conversation.send("go"))

        group.start_soon(run)
        await mail.began.wait()
        group.cancel_scope.cancel()
    async with agent.open(journal) as keeper:
        (found,) = await keeper.recover()
        assert found.status is tk.TurnStatus.AWAITING_RESOLUTION


def sending(make: Make, mail: Mail, **options: Any) -> tk.Agent:
    api = MessagesAPI(script(reply(call("send", ASKED, id="toolu_m")), "It is settled."))
    return make(api, tools=mail.tools(), **options)


async def test_whoever_a_call_ran_for_does_not_say_what_became_of_it(make: Make) -> None:
    mail, journal = Mail(), MemoryJournal()
    agent = sending(make, mail)
    await lost(agent, journal, mail, ANA)
    async with agent.open(journal) as keeper:
        (unknown,) = await keeper.outcomes.list()
        assert (unknown.input, unknown.requester) == (ASKED, ANA)
        events = len(await journal.read("c"))
        for who in (ANA, ANA_ELSEWHERE):
            with pytest.raises(ApprovalRefusedError, match="staff 'ana' asked for this call and can't say what became"):
                await keeper.outcomes.did_not_happen("c", "toolu_m", by=who)
            with pytest.raises(ApprovalRefusedError):
                await keeper.outcomes.happened("c", "toolu_m", by=who)
        assert len(await journal.read("c")) == events
        await keeper.outcomes.happened("c", "toolu_m", by=BORIS, result="it went out")
        (found,) = await keeper.recover()
    assert (found.text, len(mail.sent)) == ("It is settled.", 1)


async def test_the_one_who_asked_is_known_where_a_call_had_an_approval_and_other_arguments(make: Make) -> None:
    mail, journal = Mail(approval="always"), MemoryJournal()
    agent = sending(make, mail)
    changed = {"to": "лена@пример.рф", "amount": 7}
    await lost(agent, journal, mail, ANA, input=changed)
    async with agent.open(journal) as keeper:
        (unknown,) = await keeper.outcomes.list()
        assert (unknown.input, unknown.requester) == (changed, ANA)
        with pytest.raises(ApprovalRefusedError):
            await keeper.outcomes.happened("c", "toolu_m", by=ANA)
        await keeper.outcomes.happened("c", "toolu_m", by=BORIS)


async def test_where_nobody_was_named_anyone_with_the_right_decides(make: Make) -> None:
    mail, journal = Mail(), MemoryJournal()
    agent = sending(make, mail)
    await lost(agent, journal, mail, None)
    async with agent.open(journal) as keeper:
        (unknown,) = await keeper.outcomes.list()
        assert unknown.requester is None
        await keeper.outcomes.happened("c", "toolu_m", by=ANA)


async def test_the_rule_is_asked_with_the_real_call_for_outcomes_too(make: Make) -> None:
    asked: list[Approval] = []

    def rule(who: tk.Principal, approval: Approval) -> bool:
        asked.append(approval)
        return who.kind == "staff" and bool(approval.input["amount"] < 50)

    mail, journal = Mail(), MemoryJournal()
    agent = sending(make, mail, may_decide=rule)
    await lost(agent, journal, mail, ANA)
    async with agent.open(journal) as keeper:
        with pytest.raises(ApprovalRefusedError, match="staff 'борис' may not decide on send"):
            await keeper.outcomes.happened("c", "toolu_m", by=BORIS)
    (approval,) = asked
    assert (approval.id, approval.call_id, approval.conversation_id) == ("toolu_m@c", "toolu_m", "c")
    assert (approval.tool, approval.input, approval.requester) == ("send", ASKED, ANA)
    assert (approval.policy, len(approval.digest)) == ("outcome unknown", 64)


@pytest.mark.parametrize("approval_id", ["nonsense", "", "@", "x@", "x@" + "y" * 300, "x@a\nb", "x@ "])
async def test_what_is_no_approvals_id_is_an_unknown_approval(make: Make, approval_id: str) -> None:
    async with make(MessagesAPI(script("x"))).open() as keeper:
        with pytest.raises(UnknownApprovalError, match="waits in this journal"):
            await keeper.approvals.get(approval_id)
        with pytest.raises(UnknownApprovalError):
            await keeper.approvals.approve(approval_id, by=ANA)


@pytest.mark.parametrize("bad", ["ana\ud800", "", 7, None])
def test_a_principal_is_text_that_the_journal_gives_back_as_it_was(bad: Any) -> None:
    for parts in (("staff", bad), (bad, "ana"), ("staff", "ana", bad)):
        with pytest.raises(InputError, match="is text that UTF-8 can carry"):
            tk.Principal(*parts)
    assert tk.Principal("staff", "ана 🙂").id == "ана 🙂"


def test_a_person_is_the_same_at_any_level_and_nobody_else() -> None:
    assert same_person(ANA, ANA_ELSEWHERE)
    assert not same_person(ANA, BORIS)
    assert not same_person(ANA, tk.Principal("customer", "ana"))
    assert not same_person(ANA, tk.Principal("staff", "Ana"))
    assert not same_person(tk.Principal("a", "b:c"), tk.Principal("a:b", "c"))
