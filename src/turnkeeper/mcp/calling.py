"""Calls that come in over MCP, each a turn of its own: in the journal where it has an effect, in memory where not."""

from __future__ import annotations

import hashlib
import json
import logging
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import anyio
import mcp_types

from turnkeeper.core.identity import same_person
from turnkeeper.driver.agent import Agent
from turnkeeper.driver.conversation import Conversation
from turnkeeper.driver.keeper import Keeper
from turnkeeper.driver.reply import Reply
from turnkeeper.driver.settings import Settings
from turnkeeper.driver.turn import Turn
from turnkeeper.errors import ConversationBusyError, JournalError, TurnkeeperError
from turnkeeper.mcp.relay import MODEL, Relay, message_for, text_of
from turnkeeper.tools import Tool
from turnkeeper.types import Block, Principal, TurnStatus
from turnkeeper.updates import ToolProgress

__all__ = ("LONGEST_KEY", "PREFIX", "Calls", "answer")

logger = logging.getLogger("turnkeeper.mcp")

PREFIX = "mcp-"
"""How the ids of conversations begin that are calls from outside."""
LONGEST_KEY = 256
_LONGEST_ID = 100
_WHOLE = 10**9

Report = Callable[[float, float | None, str], Awaitable[None]]


class Calls:
    """Runs the tools of one server; made by `Calls.opened`."""

    def __init__(self, tools: Sequence[Tool[..., Any]], keeper: Keeper, reads: Agent, *, durable: bool) -> None:
        self._keeper = keeper
        self._reads = reads
        self._reading = frozenset(tool.name for tool in tools if _only_reads(tool))
        self.durable = durable

    @classmethod
    @asynccontextmanager
    async def opened(
        cls, tools: Sequence[Tool[..., Any]], journal: str, settings: Mapping[str, Any]
    ) -> AsyncIterator[Calls]:
        """Open the journal, and bring to their end the calls that a server left behind which was stopped."""
        made: dict[str, Any] = {"client": Relay(), "model": MODEL, "stream": False, "max_tokens": 1, "cache": False}
        if Settings().find("result_head") is not None:
            # what is set for models that can read on: an MCP client gets the whole, as far as its tool allows
            made["result_head"] = _WHOLE
        made |= dict(settings)
        agent = Agent(tools=tools, **made)
        reads = Agent(tools=[tool for tool in tools if _only_reads(tool)], **made)
        async with AsyncExitStack() as stack:
            keeper = await stack.enter_async_context(agent.open(journal))
            found = cls(tools, keeper, reads, durable=journal != "memory:")
            await found._recover()
            yield found

    async def _recover(self) -> None:
        for name in await self._keeper.recoverable(limit=1000):
            if name.startswith(PREFIX):
                try:
                    await self._keeper.work_off(name)
                except JournalError as error:
                    logger.warning("the call %s can't be recovered: %s", name, error)

    async def call(
        self, tool: str, arguments: Mapping[str, Any], *, principal: Principal | None, key: str | None, report: Report
    ) -> mcp_types.CallToolResult:
        """Run a call and give its result. `key` is the caller's own id for it: the same call, made again, runs once."""
        content = message_for(tool, arguments)
        if tool in self._reading:
            async with self._reads.open() as keeper:
                conversation = await keeper.conversation(f"{PREFIX}{uuid.uuid4().hex}", principal=principal)
                return await self._result(conversation, conversation.send(content), report)
        name = f"{PREFIX}{uuid.uuid4().hex if key is None else _digest(principal, key)}"
        conversation = await self._keeper.conversation(name, principal=principal)
        if _said(conversation) not in (None, content):
            return answer("Not run: the key of this call belongs to another call.", is_error=True)
        return await self._result(conversation, conversation.send(content, key=name), report)

    async def outcome(self, name: str, *, principal: Principal | None, report: Report) -> mcp_types.CallToolResult:
        """The result of a call that had to wait, once it can be had."""
        unknown = answer("There is no such call.", is_error=True)
        if not name.startswith(PREFIX) or len(name) > _LONGEST_ID:
            return unknown
        try:
            conversation = await self._keeper.conversation(name, principal=principal)
        except TurnkeeperError:
            return unknown
        owner = conversation.recorder.owner
        content = _said(conversation)
        mine = owner is principal if owner is None or principal is None else same_person(owner, principal)
        if content is None or not mine:
            return unknown
        return await self._result(conversation, conversation.send(content, key=name), report)

    async def _result(self, conversation: Conversation, turn: Turn, report: Report) -> mcp_types.CallToolResult:
        try:
            async with turn:
                async for update in turn:
                    if isinstance(update, ToolProgress):
                        done = 0.0 if update.fraction is None else update.fraction
                        await report(done, None if update.fraction is None else 1.0, update.message)
        except ConversationBusyError:
            return answer("Not run again: this very call is under way.", is_error=True)
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await conversation.cancel()
            raise
        reply = turn.reply
        assert reply is not None
        return self._told(conversation.id, reply)

    def _told(self, name: str, reply: Reply) -> mcp_types.CallToolResult:
        if reply.status is TurnStatus.AWAITING_APPROVAL:
            if not self.durable:
                return answer(
                    "Not run: this call needs a person's approval, and there is nobody to ask here.", is_error=True
                )
            return answer(
                f"Not run yet: this call waits for a person's approval. Ask for its outcome later with call_outcome, id"
                f" {name!r}; don't make the call again.",
                is_error=True,
            )
        if reply.status is TurnStatus.AWAITING_RESOLUTION:
            return answer(
                f"Outcome unknown: the server stopped while this call ran. It may or may not have taken effect, and was"
                f" not run again. A person has to look at it; call_outcome, id {name!r}, tells what they found.",
                is_error=True,
            )
        if not reply.calls:
            return answer(f"Not run ({reply.status}).", is_error=True)
        record = reply.calls[-1]
        return answer(record.content, is_error=record.is_error)


def _said(conversation: Conversation) -> str | None:
    """The message that the call was made with; None before there is one."""
    messages = conversation.messages
    return text_of(messages[0]["content"]) if messages else None


def answer(content: str | list[Block], *, is_error: bool = False) -> mcp_types.CallToolResult:
    """A result's content as MCP has it; JSON objects are structured content too."""
    if isinstance(content, str):
        return mcp_types.CallToolResult(
            content=[mcp_types.TextContent(text=content)],
            is_error=is_error,
            **({} if is_error else _structured(content)),
        )
    return mcp_types.CallToolResult(content=[_part(block) for block in content], is_error=is_error)


def _structured(text: str) -> dict[str, Any]:
    if not text.startswith("{"):
        return {}
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return {"structured_content": value} if isinstance(value, dict) else {}


def _part(block: Block) -> mcp_types.ContentBlock:
    source = block.get("source")
    if block.get("type") == "text":
        return mcp_types.TextContent(text=block["text"])
    if isinstance(source, dict) and source.get("type") == "base64":
        if block["type"] == "image":
            return mcp_types.ImageContent(data=source["data"], mime_type=source["media_type"])
        resource = mcp_types.BlobResourceContents(
            uri="document:///1", blob=source["data"], mime_type=source["media_type"]
        )
        return mcp_types.EmbeddedResource(resource=resource)
    return mcp_types.TextContent(text=json.dumps(block, ensure_ascii=False))


def _only_reads(tool: Tool[..., Any]) -> bool:
    return tool.effect == "read" and tool.approval in (None, "never")


def _digest(principal: Principal | None, key: str) -> str:
    who = ("", "") if principal is None else (principal.kind, principal.id)
    text = json.dumps([*who, key])
    return hashlib.sha256(text.encode()).hexdigest()[:40]
