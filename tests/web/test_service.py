"""What the doors share: whose a conversation is."""

from __future__ import annotations

from typing import Any

import pytest

import turnkeeper as tk
from turnkeeper.errors import UnknownConversationError
from turnkeeper.testing import MessagesAPI, script
from turnkeeper.web import Service

pytestmark = pytest.mark.anyio

MEGAN, JOHN = tk.Principal("customer", "8259147"), tk.Principal("customer", "1213210")


async def test_a_conversation_is_its_owners_also_while_its_first_message_becomes_a_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Between a look at the events and one at the queue the message can move from here to there."""
    async with tk.Agent(client=MessagesAPI(script("Да."))).open() as keeper:
        service = Service(keeper)
        await keeper.post("c-1", "привет", key="k1", principal=MEGAN)
        assert (await service.owner("c-1"), await service.own("c-1", MEGAN)) == (MEGAN, 0)
        queued = keeper.journal.queued

        async def late(*given: Any, **more: Any) -> Any:
            monkeypatch.undo()
            await keeper.work_off("c-1")
            return await queued(*given, **more)

        monkeypatch.setattr(keeper.journal, "queued", late)
        assert await service.owner("c-1") == MEGAN
        assert await service.own("c-1", MEGAN) == len(await keeper.journal.read("c-1")) > 0
        for name, who in (("c-1", JOHN), ("c-2", MEGAN)):
            with pytest.raises(UnknownConversationError, match=f"no conversation '{name}' in this journal"):
                await service.own(name, who)


async def test_a_conversation_of_nobody_is_no_customers() -> None:
    async with tk.Agent(client=MessagesAPI(script("Да."))).open() as keeper:
        await (await keeper.conversation("c-1")).send("hi")
        assert await Service(keeper).owner("c-1") is None
        with pytest.raises(UnknownConversationError):
            await Service(keeper).own("c-1", MEGAN)
