"""An agent together with a journal: where durable conversations come from."""

from __future__ import annotations

import contextlib
import math
import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from anyio.abc import TaskGroup

from turnkeeper.driver.conversation import Conversation
from turnkeeper.driver.people import Approvals, Outcomes
from turnkeeper.driver.reply import Reply
from turnkeeper.errors import ConversationBusyError, InputError
from turnkeeper.journal import Journal, Summary
from turnkeeper.types import Principal

if TYPE_CHECKING:
    from turnkeeper.driver.agent import Agent

__all__ = ("Keeper",)

LONGEST_ID = 200
MOST_OPEN = 10_000
"""How many open turns `recover` looks at."""


class Keeper:
    """Conversations of one agent in one journal; made by `async with agent.open(…) as keeper`."""

    def __init__(self, *, agent: Agent, journal: Journal, group: TaskGroup) -> None:
        self.agent = agent
        self.journal = journal
        self._group = group
        self.approvals = Approvals(journal, agent.tools, agent.may_decide, agent.now)
        self.outcomes = Outcomes(journal, agent.tools, agent.may_decide, agent.now)

    async def conversation(
        self,
        conversation_id: str | None = None,
        *,
        principal: Principal | None = None,
        injected: Mapping[str, Any] | None = None,
    ) -> Conversation:
        """The conversation of that id, new if the journal has none; without an id, a new one.

        `principal` is who is talking, as the application knows it; a conversation of another principal is answered
        with UnknownConversationError, as if it weren't there. `injected` binds the tools' Injected parameters.
        """
        name = uuid.uuid4().hex if conversation_id is None else conversation_id
        if not name.strip() or len(name) > LONGEST_ID or not name.isprintable():
            raise InputError(f"a conversation id is 1 to {LONGEST_ID} printable characters, not {name[:40]!r}")
        conversation = self.agent.conversation(
            name, journal=self.journal, principal=principal, injected=injected, group=self._group
        )
        await conversation.load()
        return conversation

    async def recover(self, *, limit: int = 50) -> tuple[Reply, ...]:
        """Go on with turns that a program left open when it went away, and those whose last decision has been made.

        Gives their replies, `limit` at the most. Conversations that another driver is at work on are passed over. A
        lease left by a process of this machine that is gone counts for nothing; one of another machine runs out first.
        """
        replies: tuple[Reply, ...] = ()
        # Leased ones too: whether the holder still lives is found out where the lease is asked for.
        for summary in await self.journal.unfinished(now=math.inf, limit=MOST_OPEN):
            if len(replies) == limit:
                break
            conversation = await self.conversation(summary.id, principal=summary.principal)
            with contextlib.suppress(ConversationBusyError):
                replies += (await conversation.resume(),)
        return replies

    async def list(self, *, principal: Principal | None = None, limit: int = 50, offset: int = 0) -> list[Summary]:
        """The journal's conversations, the newest change first; `principal` narrows to that one's own."""
        return await self.journal.conversations(principal=principal, limit=limit, offset=offset)
