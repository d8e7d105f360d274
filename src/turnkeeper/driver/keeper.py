"""An agent together with a journal: where durable conversations come from."""

from __future__ import annotations

import logging
import math
import uuid
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from anyio.abc import TaskGroup

from turnkeeper.driver.conversation import Conversation
from turnkeeper.driver.forking import fork
from turnkeeper.driver.inbox import Inject, Stop, Watch, WorkedOff, post, recoverable, work_off
from turnkeeper.driver.names import checked_name
from turnkeeper.driver.people import Approvals, Outcomes
from turnkeeper.driver.reply import Reply
from turnkeeper.errors import JournalError
from turnkeeper.journal import Journal, Summary
from turnkeeper.types import Principal

if TYPE_CHECKING:
    from turnkeeper.driver.agent import Agent

__all__ = ("Keeper",)

_log = logging.getLogger("turnkeeper")

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
        with UnknownConversationError, as if it weren't there, and so is one of anybody's where no principal is given
        (`list` tells whose it is); one that was held by somebody who had proven who they are, and now comes without
        proof, with UnconfirmedError. `injected` binds the tools' Injected parameters.
        """
        name = uuid.uuid4().hex if conversation_id is None else checked_name(conversation_id)
        conversation = self.unopened(name, principal=principal, injected=injected)
        await conversation.load()
        await conversation.admit()
        return conversation

    def unopened(
        self, name: str, *, principal: Principal | None = None, injected: Mapping[str, Any] | None = None
    ) -> Conversation:
        """A conversation of which nothing is read and whose owner is not compared yet; for the driver's own modules."""
        return self.agent.conversation(
            name, journal=self.journal, principal=principal, injected=injected, group=self._group
        )

    async def fork(
        self,
        conversation_id: str,
        seq: int | None = None,
        *,
        new_id: str | None = None,
        principal: Principal | None = None,
        injected: Mapping[str, Any] | None = None,
    ) -> Conversation:
        """A new conversation that begins with the events of another up to number `seq` (all of them without one).

        It is its principal's, and is opened as `conversation` opens it. Calls that had ended keep their results and are
        not run again; of a turn that was open at `seq` the open calls get a result that says so. What it cost stays
        with the original; `forked_from` of the first event says where it comes from. InputError for a number that
        isn't there, or an id that is taken.
        """
        await self.conversation(conversation_id, principal=principal)  # whose it is
        name = await fork(self.journal, conversation_id, seq, new_id=new_id, now=self.agent.now())
        return await self.conversation(name, principal=principal, injected=injected)

    async def post(
        self,
        conversation_id: str,
        content: str | Sequence[Mapping[str, Any]],
        *,
        key: str,
        principal: Principal | None = None,
    ) -> Literal["queued", "duplicate"]:
        """Keep a message until its turn, and come back at once; `work_off`, here or in a worker, runs the turn.

        `key` is the sender's own id for the message: sent again, however late, it is a `duplicate` and nothing
        happens. Messages of a conversation become turns one after another, in the order in which they were posted,
        in the name of the `principal` they were posted with. InputError for content or keys that can't be used,
        UnknownConversationError if the conversation is another principal's.
        """
        now = self.agent.now()
        accept = self.agent.accept
        return await post(self.journal, conversation_id, content, key=key, principal=principal, now=now, accept=accept)

    async def work_off(
        self,
        conversation_id: str,
        *,
        turns: int | None = None,
        stop: Stop | None = None,
        inject: Inject | None = None,
        watch: Watch | None = None,
    ) -> WorkedOff:
        """Do what waits in a conversation: go on with its open turn, then run its messages, the oldest first.

        It ends when nothing waits any more, when the turn waits for a person (messages wait behind it: call this
        again after the decision), when another driver is at work, after `turns` turns, or once `stop()` says so: then
        the turn is left where no call is under way, for another driver to go on with. A turn that fails ends as
        `failed` among the replies, and the next message is taken. `inject` gives the tools' Injected parameters by
        conversation and principal; `watch(conversation, update)` is awaited with each update of the turns.
        """
        return await work_off(self, conversation_id, turns=turns, stop=stop, inject=inject, watch=watch)

    async def recoverable(self, *, limit: int = 50) -> tuple[str, ...]:
        """Ids of conversations that could go on by themselves and that nobody drives: for `work_off`, elsewhere too."""
        return tuple(await recoverable(self, now=self.agent.now(), limit=limit))[:limit]

    async def recover(self, *, limit: int = 50, inject: Inject | None = None) -> tuple[Reply, ...]:
        """Go on with turns that a program left open when it went away, those whose last decision has been made or can't
        be made any more, and messages that wait.

        Gives their replies, about `limit` at the most. Conversations that another driver is at work on are passed
        over, and those that can't be read (the log says why). A lease left by a process of this machine that is gone
        counts for nothing; one of another machine runs out first. `inject` gives the tools' Injected parameters.
        """
        replies: tuple[Reply, ...] = ()
        # Leased ones too: whether the holder still lives is found out where the lease is asked for.
        for name in await recoverable(self, now=math.inf, limit=MOST_OPEN):
            if len(replies) >= limit:
                break
            try:
                replies += (await self.work_off(name, turns=limit - len(replies), inject=inject)).replies
            except JournalError as error:
                _log.warning("conversation %s can't be recovered: %s", name, error)
        return replies

    async def list(self, *, principal: Principal | None = None, limit: int = 50, offset: int = 0) -> list[Summary]:
        """The journal's conversations, the newest change first; `principal` narrows to that one's own."""
        return await self.journal.conversations(principal=principal, limit=limit, offset=offset)
