"""From a command's options to an open conversation: agent, journal, and which conversation."""

from __future__ import annotations

import getpass
import os
import secrets
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from turnkeeper.cli.bringing import listed, mcp_servers, tell_refused
from turnkeeper.cli.exits import Exit
from turnkeeper.cli.options import Talk
from turnkeeper.cli.places import default_journal, journal_url, missing_file
from turnkeeper.cli.printing import Filter, Printer, Whole, printer_for
from turnkeeper.cli.problems import CommandError
from turnkeeper.cli.terminal import Terminal
from turnkeeper.cli.toolbox import load_tools
from turnkeeper.cli.wording import way_on
from turnkeeper.core.events import ConversationStarted
from turnkeeper.driver.agent import Agent
from turnkeeper.driver.conversation import Conversation
from turnkeeper.driver.keeper import Keeper
from turnkeeper.driver.settings import Settings
from turnkeeper.models import find
from turnkeeper.types import Limits, Principal

if TYPE_CHECKING:
    from turnkeeper.cli.visiting import Cards
    from turnkeeper.testing import MessagesAPI

__all__ = (
    "PRACTICE",
    "Session",
    "build_agent",
    "endpoint",
    "fresh_id",
    "has_credentials",
    "opened",
    "practice_api",
    "this_person",
)

PRACTICE = (
    "turnkeeper: no key and no --base-url, so the practice model answers (it follows rules, it is no language model);"
    " set ANTHROPIC_API_KEY for Claude"
)
_OFFICIAL = "https://api.anthropic.com"


@dataclass(slots=True)
class Session:
    """An agent at work in a journal, and the conversation that is talked in.

    `make_filter` makes what chooses the user's part of a reply; `journal` is the journal that was named, None for the
    default; `visit` who is asked about their own calls.
    """

    agent: Agent
    keeper: Keeper
    conversation: Conversation
    principal: Principal | None = None
    practice: bool = False
    tools: tuple[Any, ...] = field(default=())
    make_filter: Callable[[], Filter] = Whole
    journal: str | None = None
    named_tools: tuple[str, ...] = ()
    database: str | None = None
    visit: Cards | None = None

    def printer(self, output_format: str, terminal: Terminal) -> Printer:
        """A printer for one turn of this session."""
        kind = self.principal.kind if self.principal else None
        return printer_for(
            output_format,
            terminal,
            self.make_filter,
            principal_kind=kind,
            input_of=self._input_of,
            journal=self.journal,
            tools=self.named_tools,
            database=self.database,
        )

    @property
    def way_on(self) -> str:
        """How this conversation is taken up again, as a command."""
        kind = self.principal.kind if self.principal else None
        named = {"journal": self.journal, "database": self.database}
        return way_on(self.conversation.id, kind, tools=self.named_tools, **named)

    def _input_of(self, call_id: str) -> Any:
        for message in reversed(self.conversation.messages):
            for block in message["content"] if isinstance(message["content"], list) else ():
                if block.get("type") == "tool_use" and block.get("id") == call_id:
                    return block.get("input")
        return None

    async def switch(self, conversation_id: str | None) -> None:
        """Talk in another conversation: the named one, which must exist and be this door's, or a new one."""
        if conversation_id is None:
            name = fresh_id()
        else:
            name = conversation_id
            if not await self.keeper.journal.read(name):
                raise CommandError(f"there is no conversation {name!r} in this journal; `turnkeeper list` shows them")
            await _check_owner(self.keeper, name, self.principal)
        self.conversation = await self.keeper.conversation(name, principal=self.principal)


def fresh_id() -> str:
    """The id of a new conversation: short enough to be typed."""
    return secrets.token_hex(5)


def this_person() -> str:
    """Who sits at this terminal, as the system says."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return "unknown"


def has_credentials() -> bool:
    """Whether the SDK would find a key, a token or a profile."""
    if any(os.environ.get(name, "").strip() for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")):
        return True
    import anthropic  # noqa: PLC0415 - heavy, and not needed where the environment has a key

    return anthropic.AsyncAnthropic(max_retries=0).credentials is not None


def endpoint(given: str | None) -> str | None:
    """--base-url, else the setting, as the SDK wants it: without the /v1 that it adds. None: the official one."""
    found = Settings().find("base_url", given)
    if not found:
        return None
    url = str(found).strip().rstrip("/")
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise CommandError(
            f"--base-url {url}: an endpoint is http://HOST:PORT or https://HOST, such as http://localhost:11434",
            exit_code=Exit.USAGE,
        )
    for ending in ("/v1/messages", "/v1"):
        url = url.removesuffix(ending)
    return url


def practice_api() -> MessagesAPI:
    """The simulator in this process, with the practice model."""
    import time  # noqa: PLC0415 - with the rest below

    import anyio  # noqa: PLC0415

    from turnkeeper.simulator.ids import random_ids  # noqa: PLC0415 - loads when it is used
    from turnkeeper.testing import MessagesAPI  # noqa: PLC0415

    return MessagesAPI(practice=True, clock=time.time, sleep=anyio.sleep, ids=random_ids, keep=1)


def build_agent(
    talk: Talk,
    terminal: Terminal,
    *,
    build: Callable[..., Agent] = Agent,
    practice: bool = False,
    brought: Sequence[Any] | None = None,
    **more: Any,
) -> tuple[Agent, bool]:
    """The agent that the options mean, and whether the practice model answers; it is said so then.

    `build` makes the agent of `Agent`'s keywords, of which `more` are some; `practice` has the practice model answer
    unless a model or an endpoint is named. The tools `brought` from elsewhere come after the agent's own; None says
    that the command brings none, and has no use for --mcp.
    """
    if brought is None and talk.mcp:
        raise CommandError("this command has no use for --mcp; leave it out", exit_code=Exit.USAGE)
    settings = Settings()
    tools = load_tools(talk.tools or listed(settings.find("tools")))
    base_url = endpoint(talk.base_url)
    limits = Limits(
        requests=settings.find("max_requests", talk.max_requests) or Limits().requests,
        usd=settings.find("budget", talk.budget),
        conversation_usd=settings.find("conversation_budget", talk.conversation_budget),
        usd_per_day=settings.find("day_budget", talk.day_budget),
    )
    named = talk.model is not None or talk.base_url is not None
    practising = (practice and not named) or (base_url is None and not has_credentials())
    if practising and not find(model := str(settings.find("model", talk.model))).known:
        raise CommandError(
            f"the model {model!r} is not one that the practice model stands in for, and there is no key and no"
            " --base-url to ask it elsewhere: set ANTHROPIC_API_KEY, or choose one of `turnkeeper models`",
            exit_code=Exit.USAGE,
        )
    connection: dict[str, Any] = {"client": practice_api()} if practising else {"base_url": base_url}
    if base_url is not None and base_url != _OFFICIAL and not practising and not has_credentials():
        connection["api_key"] = "none"  # a placeholder: local servers want the header, not its value
    options: dict[str, Any] = {
        "model": talk.model,
        "tool_choice": str(settings.find("tool_choice", talk.tool_choice) or "auto"),
        "limits": limits,
        "max_tokens": talk.max_tokens,
        "cache": talk.cache,
        "result_head": talk.result_head,
        "stream": talk.stream,
        **connection,
        **more,
    }
    system = settings.find("system", talk.system)
    if system is not None:
        options["system"] = system
    if tools or build is Agent:
        options["tools"] = tools
    if brought:
        own = options.get("tools") or build(**{**options, "tool_choice": "auto"}).tools.tools
        options["tools"] = [*own, *brought]
    agent = build(**options)
    if practising:
        terminal.note(PRACTICE)
    return agent, practising


@asynccontextmanager
async def opened(
    talk: Talk,
    terminal: Terminal,
    *,
    build: Callable[..., Agent] = Agent,
    principal: Principal | None = None,
    must_exist: bool = False,
    practice: bool = False,
    make_filter: Callable[[], Filter] = Whole,
) -> AsyncIterator[Session]:
    """An agent by the options, its journal, and the conversation that they name.

    `build` and `practice` are as above; `must_exist` refuses an id that the journal doesn't have.
    """
    async with AsyncExitStack() as stack:
        connecting = mcp_servers(talk)
        brought = await stack.enter_async_context(connecting) if connecting is not None else ()
        tell_refused(brought, terminal)
        agent, practising = build_agent(talk, terminal, build=build, practice=practice, brought=brought)
        place = journal_url(talk.journal)
        if must_exist and missing_file(place) not in (None, default_journal()):
            raise CommandError(f"there is no journal at {missing_file(place)}; the first conversation in it makes it")
        keeper = await stack.enter_async_context(agent.open(place))
        name = await _which(talk, keeper, principal, terminal, must_exist=must_exist)
        conversation = await keeper.conversation(name, principal=principal)
        yield Session(
            agent=agent,
            keeper=keeper,
            conversation=conversation,
            principal=principal,
            practice=practising,
            tools=agent.tools.tools,
            make_filter=make_filter,
            journal=talk.journal,
            named_tools=talk.tools,
        )


async def _which(
    talk: Talk, keeper: Keeper, principal: Principal | None, terminal: Terminal, *, must_exist: bool
) -> str:
    """The id of the conversation that the options mean."""
    if talk.go_on:
        offset, step = 0, 50
        while found := await keeper.list(principal=principal, limit=step, offset=offset):
            for one in found:
                if one.principal == principal or principal is not None:
                    return one.id
            offset += step
        terminal.note("turnkeeper: there is no conversation to go on with; this is a new one")
        return fresh_id()
    if talk.conversation is None:
        return fresh_id()
    if not await _check_owner(keeper, talk.conversation, principal) and must_exist:
        raise CommandError(
            f"there is no conversation {talk.conversation!r} in this journal; `turnkeeper list` shows them"
        )
    return talk.conversation


async def _check_owner(keeper: Keeper, name: str, principal: Principal | None) -> bool:
    """Whether the conversation exists; CommandError if it belongs to somebody whom this command doesn't speak for."""
    events = await keeper.journal.read(name)
    if not events:
        return False
    first = events[0]
    owner = first.principal if isinstance(first, ConversationStarted) else None
    if owner is not None and principal is None:
        way = f"; {way_on(name, 'staff')} goes on with it" if owner["kind"] == "staff" else ""
        raise CommandError(f"conversation {name!r} belongs to {owner['kind']} {owner['id']}{way}")
    return True
