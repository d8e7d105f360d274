"""The agent: a model, a prompt, tools and limits; and the doors to its turns."""

from __future__ import annotations

import asyncio
import copy
import math
import random
import time
import uuid
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from typing import Any

import anyio

from turnkeeper.client.api import APIClient
from turnkeeper.core.accepting import accepted
from turnkeeper.core.retries import RetryPolicy
from turnkeeper.core.tool_choice import check_tool_choice, parse_tool_choice, route_for
from turnkeeper.driver import portal
from turnkeeper.driver.bodies import RequestBody, caching_for
from turnkeeper.driver.compacting import compaction_for
from turnkeeper.driver.conversation import Conversation
from turnkeeper.driver.extraction import Extracts
from turnkeeper.driver.finishing import finished
from turnkeeper.driver.keeper import Keeper
from turnkeeper.driver.leasing import LEASE_SECONDS
from turnkeeper.driver.loop import Plan
from turnkeeper.driver.observing import observer_for
from turnkeeper.driver.people import Approval, may_decide
from turnkeeper.driver.reading import SMALLEST_HEAD, with_reading
from turnkeeper.driver.reply import Reply
from turnkeeper.driver.running import Recorded
from turnkeeper.driver.settings import Settings
from turnkeeper.driver.standing import Identity
from turnkeeper.errors import ConfigurationError, LimitError
from turnkeeper.journal import Journal, MemoryJournal
from turnkeeper.models import find
from turnkeeper.telemetry.port import Observer
from turnkeeper.tools import Registry
from turnkeeper.types import Limits, Message, Principal, ToolChoice

__all__ = ("Agent",)


class Agent(Extracts):
    """What answers: configured once, used for any number of conversations.

    Args:
        model: A model id; else the setting `model`, else claude-opus-5-5.
        system: The system prompt: text, or the API's list of text blocks.
        tools: Functions, `Tool`s, or the API's own definitions of tools that it runs itself (such as web search).
        tool_choice: `auto`, `any`, `none`, a tool's name, or the API's object. It is kept on every model: each reply is
            held against it, and ToolChoiceUnmet raised where it could not be had. A forced choice holds until the
            first reply of a turn that keeps to it, so that it can't loop.
        tool_choice_asks: How often a reply that breaks the choice is asked for again in a turn; else the setting.
        guide_tool_choice: Say a choice in words where the model takes none; False refuses it (ConfigurationError).
        limits: What one turn may use.
        max_tokens: Room for one reply; a reply cut off by it is asked for again with more.
        thinking: The API's `thinking` object.
        stream: Stream replies (the default); False asks for each reply as a whole.
        name: What telemetry calls the agent.
        observer: Watches the agent's turns: a `turnkeeper.telemetry.Telemetry`; else what TURNKEEPER_TELEMETRY says.
        client: An asynchronous SDK client, or a `turnkeeper.testing.MessagesAPI`.
        base_url, api_key: For a client of the agent's own, where `client` is not given.
        cache: Whether prompts are cached: True (as long as the conversation's pace asks), "5m", "1h", or False; else
            the setting `cache`, else True for models of the catalogue and False for others.
        accept: What messages may do beyond saying something, where they are the program's own and not a client's: a
            list of "urls" (the API fetches images and documents), "files" (of the account's store, by id) and
            "cache_control"; in message lists also "system" (messages in the system's role) and "calls" (without
            results, at the end: they are run).
        compaction: From how many tokens of prompt on the API is asked to compact the conversation (its beta
            `compact-2026-01-12`); False for never. Else at three quarters of the window, for models that have it.
        result_head: Characters of a tool's result that the model gets at once in a conversation of a journal: the whole
            is kept, and the built-in tool `read_result` reads on. Else the setting, else results are cut at their
            tool's limit.
        disable_parallel_tool_use: At most one call in a reply.
        most_calls_at_once: How many calls of one reply run at the same time; None for all, 1 for one by one.
        approval_seconds: How long a person has to decide on a call; after that it counts as denied.
        lease_seconds: How long a conversation stays taken after a program on another machine that drove it has died.
        identity: Who a principal is right now, such as the customer of a session, and what they have proven: a function
            of (principal as given, conversation id, time in seconds since 1970). It is asked before each request and
            each call; where it fails, nobody is proven. None: principals are what the application says.
        may_decide: Who may approve, deny, edit and resolve: a function of (principal, approval); else staff may.
        retry: How failed requests are tried again.
        headers: Extra headers of every request, such as `anthropic-beta`.
        timeout: Seconds that a request may be silent; None for the SDK's own.
        extra: Other members of the request body (`metadata`, `output_config`, `stop_sequences`, …).
        clock, chance, sleep: The time in seconds since 1970, a number in 0..1, and how to wait; replaced in tests. Over
            a `turnkeeper.testing.MessagesAPI` waits are its own, which take no time unless it is said.

    Raises ConfigurationError for combinations that the API would refuse, LimitError for a limit that can't be kept.
    """

    def __init__(  # noqa: PLR0913 - the one place where everything is set
        self,
        *,
        model: str | None = None,
        system: str | Sequence[Mapping[str, Any]] | None = None,
        tools: Sequence[Any] = (),
        tool_choice: ToolChoice = "auto",
        tool_choice_asks: int | None = None,
        guide_tool_choice: bool = True,
        limits: Limits | None = None,
        max_tokens: int | None = None,
        thinking: Mapping[str, Any] | None = None,
        stream: bool = True,
        name: str = "",
        observer: Observer | None = None,
        client: Any = None,
        base_url: str | None = None,
        api_key: str | None = None,
        cache: bool | str | None = None,
        accept: Collection[str] = (),
        compaction: int | bool | None = None,
        result_head: int | None = None,
        disable_parallel_tool_use: bool = False,
        most_calls_at_once: int | None = None,
        approval_seconds: float = 24 * 3600,
        lease_seconds: float = LEASE_SECONDS,
        identity: Identity | None = None,
        may_decide: Callable[[Principal, Approval], bool] = may_decide,
        retry: RetryPolicy | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
        extra: Mapping[str, Any] | None = None,
        clock: Callable[[], float] = time.time,
        chance: Callable[[], float] = random.random,
        sleep: Callable[[float], Any] | None = None,
    ) -> None:
        settings = Settings()
        self.model = str(settings.find("model", model))
        self._registry = Registry(tools)
        self._given_client = client
        self._api_key = api_key
        self._base_url = None if client is not None else settings.find("base_url", base_url)
        self._headers = headers
        self._timeout = timeout
        self._owns_client = client is None or not hasattr(client, "post")
        self._clients: dict[Any, APIClient] = {}
        self._users: dict[Any, int] = {}
        self._targets = {}
        self._most_at_once = most_calls_at_once
        self.approval_seconds = approval_seconds
        self.lease_seconds = lease_seconds
        self.may_decide = may_decide
        self.identity = identity
        self.now = clock
        self.accept = accepted(accept)
        if most_calls_at_once is not None and most_calls_at_once < 1:
            raise ConfigurationError(f"most_calls_at_once must be 1 or more, not {most_calls_at_once}")
        if not 0 < lease_seconds < math.inf:
            raise ConfigurationError(f"lease_seconds must be more than 0, not {lease_seconds}")
        if isinstance(system, str) and not system.strip():
            system = None
        about = find(self.model)
        room = settings.find("max_tokens", max_tokens)
        if not isinstance(room, int) or room < 1:
            raise ConfigurationError(f"max_tokens must be a positive number of tokens, not {room!r}")
        if about.max_output is not None:
            if max_tokens is not None and max_tokens > about.max_output:
                raise ConfigurationError(
                    f"max_tokens {max_tokens} is more than {self.model} can write ({about.max_output})"
                )
            room = min(room, about.max_output)
        choice = parse_tool_choice(tool_choice, disable_parallel=disable_parallel_tool_use)
        fields = dict(extra or {})
        if thinking is not None:
            fields["thinking"] = dict(thinking)
        asks = settings.find("tool_choice_asks", tool_choice_asks)
        if not isinstance(asks, int) or asks < 0:
            raise ConfigurationError(f"tool_choice_asks must be 0 or more, not {asks!r}")
        thinks = fields["thinking"].get("type") if isinstance(fields.get("thinking"), Mapping) else None
        route = route_for(choice, support=about.forced_tool_choice, thinking=thinks)
        check_tool_choice(
            choice, names=self._registry.names, model=self.model, route=None if guide_tool_choice else route
        )
        result_head = settings.find("result_head", result_head)
        if result_head is not None and not (isinstance(result_head, int) and result_head >= SMALLEST_HEAD):
            raise ConfigurationError(f"result_head must be {SMALLEST_HEAD} characters or more, or None")
        self.limits = _checked_limits(limits or Limits(), priced=about.input_price is not None, model=self.model)
        self._plan = Plan(
            body=RequestBody(
                model=self.model,
                system=system if system is None or isinstance(system, str) else [dict(block) for block in system],
                tools=self._registry.definitions,
                extra=fields,
                stream=stream,
                caching=caching_for(settings.find("cache", cache), about),
            ),
            model=about,
            max_tokens=room,
            tool_choice=choice,
            tool_choice_asks=asks,
            thinking=thinks,
            names=self._registry.names,
            limits=self.limits,
            retry=retry or RetryPolicy(),
            stream=stream,
            clock=clock,
            chance=chance,
            sleep=sleep or _waits_of(client),
            accept=self.accept,
            agent=name,
            observer=observer_for(observer),
            compaction=compaction_for(compaction, about, fields),
        )
        self._keeping = with_reading(self._plan, self._registry, result_head)

    @property
    def tools(self) -> Registry:
        """The tools on offer."""
        return self._registry

    async def run(self, prompt: str | Sequence[Mapping[str, Any]]) -> Reply:
        """One turn in memory. APIError if the API fails for good, InputError for an empty prompt."""
        async with self._connected():
            return await self._in_memory().send(prompt)

    def run_sync(self, prompt: str | Sequence[Mapping[str, Any]]) -> Reply:
        """`run` for synchronous code; works inside a running event loop too (notebooks)."""
        return portal.call(lambda: self.run(prompt))

    async def answer(self, messages: Sequence[Message]) -> Reply:
        """One turn in memory that answers an existing message list; HistoryError says what is wrong with it."""
        async with self._connected():
            return await self._in_memory().answer(messages)

    def answer_sync(self, messages: Sequence[Message]) -> Reply:
        """`answer` for synchronous code."""
        return portal.call(lambda: self.answer(messages))

    @asynccontextmanager
    async def open(self, journal: str | Journal = "memory:") -> AsyncIterator[Keeper]:
        """Conversations in a journal: `sqlite:///desk.db`, `postgresql+psycopg://…`, `memory:`, or a Journal.

        On leaving, turns whose updates are being read are interrupted (and can be resumed), and a journal opened here
        is closed; turns that other tasks await should have ended by then.
        """
        kept = await _journal(journal) if isinstance(journal, str) else journal
        group = anyio.create_task_group()
        try:
            async with self._connected():
                await group.__aenter__()
                try:
                    yield Keeper(agent=self, journal=kept, group=group)
                finally:
                    # Left by hand: what the block raises reaches the caller as it is, not inside an exception group.
                    group.cancel_scope.cancel()
                    await group.__aexit__(None, None, None)
        finally:
            if kept is not journal:
                await finished(kept.aclose())

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[None]:
        """Use this event loop's client; the last user closes it, except in the background loop of the sync doors."""
        loop = asyncio.get_running_loop()
        self._users[loop] = self._users.get(loop, 0) + 1
        try:
            yield
        finally:
            self._users[loop] -= 1
            if not self._users[loop]:
                del self._users[loop]
                if not portal.is_here():
                    await finished(self.aclose())

    async def aclose(self) -> None:
        """Close this event loop's connections, where the client is the agent's own."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None and self._owns_client:
            await client.aclose()

    def close_sync(self) -> None:
        """Close the connections of the synchronous doors; they open again when they are used."""
        portal.call(self.aclose)

    def conversation(  # noqa: D102 - described at Keeper.conversation
        self,
        conversation_id: str,
        *,
        journal: Journal,
        principal: Principal | None = None,
        injected: Mapping[str, Any] | None = None,
        group: anyio.abc.TaskGroup | None = None,
        shared: bool = True,
    ) -> Conversation:
        plan, registry = replace(self._keeping[0], keeps_setup=True), self._keeping[1]
        if not shared:
            plan, registry = replace(self._plan, body=self._plan.body.for_one_turn()), self._registry
        return Conversation(
            conversation_id,
            plan=plan,
            registry=registry,
            client=self._client,
            journal=journal,
            principal=principal,
            identity=self.identity,
            injected=injected or {},
            most_at_once=self._most_at_once,
            approval_seconds=self.approval_seconds,
            lease_seconds=self.lease_seconds,
            group=group,
            shared=shared,
        )

    def replaying(self, client: Any, recorded: Recorded | None, *, clock: Callable[[], float]) -> Agent:
        """The same agent over another client, where calls whose end is `recorded` are not run; for replays."""
        other = copy.copy(self)
        other._given_client, other._clients, other._users = client, {}, {}
        other.limits, other.now, other.identity = Limits(requests=None), clock, None
        plan = replace(
            self._plan, limits=other.limits, recorded=recorded, stream=False, sleep=_at_once, clock=clock, observer=None
        )
        kept, registry = self._keeping
        other._plan = plan
        other._keeping = replace(plan, body=kept.body, names=kept.names, result_head=kept.result_head), registry
        return other

    def _in_memory(self) -> Conversation:
        return self.conversation(uuid.uuid4().hex, journal=MemoryJournal(), shared=False)

    def _client(self) -> APIClient:
        loop = asyncio.get_running_loop()
        client = self._clients.get(loop)
        if client is None:
            given = self._given_client
            if given is None:
                client = APIClient.connect(
                    api_key=self._api_key, base_url=self._base_url, headers=self._headers, timeout=self._timeout
                )
            else:
                sdk = given.client() if not hasattr(given, "post") and hasattr(given, "client") else given
                client = APIClient(sdk, headers=self._headers, timeout=self._timeout)
            self._clients[loop] = client
        return client


async def _at_once(_: float) -> None:
    """No wait."""


async def _journal(url: str) -> Journal:
    if url == "memory:":
        return MemoryJournal()
    from turnkeeper.journal import open_journal  # noqa: PLC0415 - SQLAlchemy loads only for a SQL journal

    return await open_journal(url)


_MONEY = ("usd", "conversation_usd", "principal_usd_per_day", "usd_per_day")


def _waits_of(client: Any) -> Callable[[float], Any]:
    """How to wait: as the simulator does, or in real time."""
    simulated = client is not None and not hasattr(client, "post") and hasattr(client, "client")
    own = getattr(client, "sleep", None) if simulated else None
    return own if callable(own) else anyio.sleep


def _checked_limits(limits: Limits, *, priced: bool, model: str) -> Limits:
    for name in ("requests", "calls", "tokens", "seconds", *_MONEY):
        value = getattr(limits, name)
        if value is None:
            continue
        try:
            number = Decimal(str(value))
        except InvalidOperation:
            raise LimitError(f"the limit on {name} must be a number, not {value!r}") from None
        if not number.is_finite() or number < 0 or (name == "requests" and number < 1):
            raise LimitError(f"the limit on {name} must be {'at least 1' if name == 'requests' else '0 or more'}")
        if isinstance(value, bool) or (name in ("requests", "calls", "tokens") and number != int(number)):
            raise LimitError(f"the limit on {name} must be a whole number, not {value!r}")
    if any(getattr(limits, name) is not None for name in _MONEY) and not priced:
        raise LimitError(
            f"a limit on money needs a known price, and {model} has none; use a limit on tokens, or a priced model"
            " (`turnkeeper models`)"
        )
    return limits
