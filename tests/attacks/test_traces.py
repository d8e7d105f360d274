"""Attacks 4 and 43 in traces: one-time codes, and what a customer says of themselves, with content switched on."""

from __future__ import annotations

import json

import pytest

from tests.attacks.conftest import ANA, Stage, asks
from tests.telemetry.conftest import Kept, kept

__all__ = ("kept",)

pytestmark = pytest.mark.anyio


async def test_a_one_time_code_is_in_no_trace(stage: Stage, kept: Kept) -> None:
    """Not the one that confirms a visitor, nor that of an action, however the customer types it into the chat."""
    codes: list[str] = []
    telemetry = kept.telemetry(content=True)
    sends = asks("send_code", key="email", value="megana@gmail.com")
    cancels = asks("cancel_my_order", order_id="47652")
    async with stage.keeper(sends, "Sent.", cancels, "Cancelled.", observer=telemetry, approve_above=10) as keeper:
        visitor = stage.door.enter()
        conversation = await keeper.conversation("c-1", principal=visitor)
        await conversation.send("It's me, megana@gmail.com, 666-777-8888")
        codes.append(stage.mail.code)
        typed = stage.door.receive(visitor, "c-1", f"my code is {codes[0]}")
        assert (typed.is_for_the_model, typed.principal.level) == (False, "confirmed")
        await conversation.send("cancel my watch")
        (waiting,) = await keeper.approvals.list("c-1")
        stage.door.start_action(visitor, "c-1", waiting.digest)
        codes.append(stage.mail.code)
        done = stage.door.receive(visitor, "c-1", f"{codes[1][:3]} {codes[1][3:]}").confirmation
        assert done is not None
        assert done.principal.level == "step_up"
        await keeper.approvals.approve(waiting.id, by=ANA, digest=done.subject)
        await conversation.resume()
    assert stage.status("47652") == "Cancelled"
    exported = "".join(span.to_json() for span in kept.spans)
    assert "cancel my watch" in exported, "content is on"
    assert "[e-mail]" in exported
    assert not [one for one in (*codes, "megana@gmail.com", "666-777-8888") if one in exported]
    assert not any(code[:3] + " " + code[3:] in exported for code in codes)
    assert json.dumps("8259147")[1:-1] not in json.dumps([span.name for span in kept.spans])
