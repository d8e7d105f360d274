"""One server for as long as it is needed: connected in a task of its own, watched, and connected again when it died.

A call that was under way when the connection broke ends at once. Whether it took effect is unknown then, and it is run
again by itself only where its effect allows that. Calls may come from any event loop; the connection lives in the one
that opened it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any, TypeVar

import anyio
import httpx2
import mcp_types
from mcp import Client, MCPError
from mcp.client.subscriptions import SubscriptionLost
from mcp.shared.dispatcher import ProgressFnT
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from turnkeeper.mcp.configuration import ServerEntry
from turnkeeper.mcp.errors import MCPServerError
from turnkeeper.mcp.transports import FATE, Fate, LastWords, opened_streams
from turnkeeper.tools.masking import mask

__all__ = ("Connection", "LostError", "NotSentError")

logger = logging.getLogger("turnkeeper.mcp")

T = TypeVar("T")

MOST_PAGES = 100
MOST_TOOLS = 5_000
_CLOSE_SECONDS = 10.0
_LAST_MOMENT = 0.5
_LISTEN_AGAIN_SECONDS = 5.0
_LONGEST_REASON = 600
_INFO = mcp_types.Implementation(name="turnkeeper", version=version("turnkeeper"))


class LostError(Exception):
    """The connection broke while the call ran: nobody knows whether it took effect."""


class ForgottenError(Exception):
    """The endpoint does not know the session any more (it was started anew, say), and so did nothing."""


class NotSentError(Exception):
    """The server could not be reached, and the call was not sent; the text says why."""


@dataclass(eq=False)
class _Life:
    """One connection from its opening to its end."""

    over: anyio.Event = field(default_factory=anyio.Event)
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    changed: anyio.Event = field(default_factory=anyio.Event)
    client: Client | None = None
    task: asyncio.Task[None] | None = None
    error: BaseException | None = None
    under_way: int = 0
    words: str = ""

    @property
    def is_over(self) -> bool:
        return self.over.is_set() or self.task is None or self.task.done()


class Connection:
    """The connection to one server. `on_listing` gets the tools it lists, at each start and whenever they change."""

    def __init__(self, entry: ServerEntry, on_listing: Callable[[list[mcp_types.Tool]], None]) -> None:
        self.entry = entry
        self._on_listing = on_listing
        self._loop: asyncio.AbstractEventLoop | None = None
        self._life: _Life | None = None
        self._starting: asyncio.Task[_Life] | None = None
        self._closed = False

    async def open(self) -> None:
        """Connect, here. MCPServerError says why it can't be done."""
        self._loop = asyncio.get_running_loop()
        await self._alive()

    async def aclose(self) -> None:
        """End the connection, and the program behind it; nothing is left running."""
        if self._loop is None or self._loop.is_closed():
            return

        async def close() -> None:
            self._closed = True
            if self._starting is not None:
                self._starting.cancel()
                await asyncio.wait({self._starting})
            if self._life is not None:
                await _end(self._life)

        await self._here(close)

    async def relist(self) -> None:
        """Ask for the tools anew."""

        async def ask() -> None:
            life = await self._alive()
            assert life.client is not None
            self._on_listing(await _listing(life.client))

        await self._here(ask)

    async def call(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        *,
        check: Callable[[], None],
        meta: Mapping[str, Any],
        progress: ProgressFnT,
        repeatable: bool,
    ) -> mcp_types.CallToolResult:
        """Call a tool. `check` is asked last, when the server is known to be there: it raises what forbids the call.

        LostError if the connection broke meanwhile (a `repeatable` call is tried once more first), NotSentError if the
        server can't be reached, MCPError for the server's own refusal.
        """

        async def call() -> mcp_types.CallToolResult:
            for attempt in (1, 2):
                life = await self._reached()
                check()
                try:
                    return await self._ask(life, tool, arguments, meta, progress)
                except LostError:
                    if attempt == 2 or not repeatable:
                        raise
                except ForgottenError:
                    if attempt == 2:
                        raise NotSentError("the endpoint does not know its own sessions") from None
                    await _end(life)
            raise AssertionError

        return await self._here(call)

    async def _here(self, work: Callable[[], Awaitable[T]]) -> T:
        """Run `work()` in the connection's own event loop."""
        loop = self._loop
        if loop is None or loop.is_closed():
            raise NotSentError("the connection was closed")
        if loop is asyncio.get_running_loop():
            return await work()

        async def there() -> T:
            return await work()

        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(there(), loop))

    async def _reached(self) -> _Life:
        try:
            return await self._alive()
        except MCPServerError as error:
            raise NotSentError(str(error)) from error

    async def _alive(self) -> _Life:
        """The connection as it is, or a new one in place of one that has ended; all who ask wait for the same one."""
        if self._closed:
            raise NotSentError("the connection was closed")
        if self._life is not None and not self._life.is_over:
            return self._life
        if self._starting is None:
            self._starting = asyncio.create_task(self._renewed(), name=f"start of MCP server {self.entry.name}")
            # Whoever waited may have gone; nobody else misses the error then.
            self._starting.add_done_callback(lambda task: task.cancelled() or task.exception())
        starting = self._starting
        # Whoever gives up waiting does not stop it: the next call finds the server there.
        await asyncio.wait({starting})
        return starting.result()

    async def _renewed(self) -> _Life:
        try:
            if self._life is not None:
                logger.warning("MCP server %s is gone; it is started again", self.entry.name)
                await _end(self._life)
            self._life = await self._started()
            return self._life
        finally:
            self._starting = None

    async def _started(self) -> _Life:
        life = _Life()
        ready = asyncio.Event()
        life.task = asyncio.create_task(self._live(life, ready), name=f"MCP server {self.entry.name}")
        life.task.add_done_callback(lambda _: ready.set())
        try:
            async with asyncio.timeout(self.entry.start_timeout):
                await ready.wait()
        except TimeoutError:
            await _end(life)
            raise MCPServerError(
                self._trouble(life, f"it did not answer within {self.entry.start_timeout:g} s")
            ) from None
        except BaseException:
            await _end(life)
            raise
        if life.client is None:
            raise MCPServerError(self._trouble(life, _reason(life.error))) from life.error
        return life

    def _trouble(self, life: _Life, reason: str) -> str:
        words = f"; its last words: {life.words}" if life.words else ""
        return f"MCP server {self.entry.name!r} ({self.entry.place}) can't be used: {reason}{mask(words)}"

    async def _live(self, life: _Life, ready: asyncio.Event) -> None:
        words = LastWords(self.entry.name) if self.entry.command is not None else None
        try:
            with life.scope:
                server: Any = self.entry.server
                if server is None:
                    server = opened_streams(self.entry, ended=life.over.set, words=words)
                async with Client(
                    server, cache=None, client_info=_INFO, message_handler=_Heard(life), logging_callback=_logged
                ) as client:
                    self._on_listing(await _listing(client))
                    life.client = client
                    ready.set()
                    await self._stay(life, client)
        except BaseException as error:
            life.error = error
            if not isinstance(error, Exception):
                raise
            logger.info("MCP server %s: the connection ended with %s", self.entry.name, type(error).__name__)
        finally:
            life.over.set()
            if words is not None:
                life.words = words.end()

    async def _stay(self, life: _Life, client: Client) -> None:
        """Until the connection is over: take notice of changed listings."""
        async with anyio.create_task_group() as group:
            tools = client.server_capabilities.tools
            if client.protocol_version in MODERN_PROTOCOL_VERSIONS and tools is not None and tools.list_changed:
                group.start_soon(_listen, client, life)
            group.start_soon(self._follow, life, client)
            await life.over.wait()
            group.cancel_scope.cancel()

    async def _follow(self, life: _Life, client: Client) -> None:
        while True:
            await life.changed.wait()
            life.changed = anyio.Event()
            try:
                self._on_listing(await _listing(client))
            except (MCPError, ValidationError, MCPServerError) as error:
                logger.warning("MCP server %s: its changed tools can't be listed (%s)", self.entry.name, _reason(error))

    async def _ask(
        self, life: _Life, tool: str, arguments: Mapping[str, Any], meta: Mapping[str, Any], progress: ProgressFnT
    ) -> mcp_types.CallToolResult:
        assert life.client is not None
        assert life.task is not None
        life.under_way += 1
        # `meta` is typed as the protocol's own members, and any others may stand beside them
        given: Any = dict(meta)
        fate = Fate()
        FATE.set(fate)
        work = asyncio.ensure_future(
            life.client.call_tool(tool, dict(arguments), progress_callback=progress, meta=given)
        )
        try:
            await asyncio.wait({work, life.task}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():  # the connection's end is told to all who wait, as a rule; don't hang on it
                await asyncio.wait({work}, timeout=_LAST_MOMENT)
            if not work.done():
                raise LostError
            return work.result()
        except MCPError as error:
            if fate.forgotten:
                raise ForgottenError from error
            lost = life.is_over or (self.entry.is_remote and error.code == mcp_types.CONNECTION_CLOSED)
            if not lost:
                raise
            if self.entry.is_remote and life.under_way == 1:
                await asyncio.wait({life.task}, timeout=_LAST_MOMENT)
                if _never_connected(life.error):
                    raise NotSentError(_reason(life.error)) from error
            raise LostError from error
        except (anyio.ClosedResourceError, anyio.BrokenResourceError) as error:
            raise LostError from error
        finally:
            life.under_way -= 1
            if not work.done():
                work.cancel()  # the server is told so
                await asyncio.wait({work}, timeout=_LAST_MOMENT)


class _Heard:
    """Takes the server's notifications; those of a changed listing matter."""

    def __init__(self, life: _Life) -> None:
        self._life = life

    async def __call__(self, message: Any) -> None:
        if isinstance(message, mcp_types.ToolListChangedNotification):
            self._life.changed.set()


async def _logged(params: mcp_types.LoggingMessageNotificationParams) -> None:
    logger.debug("an MCP server logs (%s): %s", params.level, mask(str(params.data))[:_LONGEST_REASON])


async def _listen(client: Client, life: _Life) -> None:
    """Subscribe to changes of the listing, as the protocol has it since 2026-07-28."""
    while True:
        try:
            async with client.listen(tools_list_changed=True) as events:
                async for _ in events:
                    life.changed.set()
        except (SubscriptionLost, MCPError, TimeoutError) as error:
            logger.debug("the subscription ended: %s", _reason(error))
        await anyio.sleep(_LISTEN_AGAIN_SECONDS)
        life.changed.set()  # what happened meanwhile was not told


async def _listing(client: Client) -> list[mcp_types.Tool]:
    """All tools, page by page. MCPServerError where the pages have no end."""
    found: list[mcp_types.Tool] = []
    cursor: str | None = None
    seen: set[str] = set()
    for _ in range(MOST_PAGES):
        page = await client.list_tools(cursor=cursor)
        found += page.tools
        if len(found) > MOST_TOOLS:
            break
        cursor = page.next_cursor
        if not cursor:
            return found
        if cursor in seen:
            break
        seen.add(cursor)
    raise MCPServerError(f"its list of tools has no end, or more than {MOST_TOOLS} tools")


async def _end(life: _Life) -> None:
    """End a connection and wait until its program is gone."""
    life.over.set()
    if life.task is None or life.task.done():
        return
    if life.client is None:
        life.scope.cancel()  # it has not come as far as waiting
    await asyncio.wait({life.task}, timeout=_CLOSE_SECONDS)
    if not life.task.done():
        life.scope.cancel()
        await asyncio.wait({life.task}, timeout=_CLOSE_SECONDS)


def _leaves(error: BaseException | None) -> list[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        return [leaf for inner in error.exceptions for leaf in _leaves(inner)]
    return [] if error is None else [error]


def _never_connected(error: BaseException | None) -> bool:
    leaves = _leaves(error)
    return bool(leaves) and all(isinstance(leaf, httpx2.ConnectError | httpx2.ConnectTimeout) for leaf in leaves)


def _reason(error: BaseException | None) -> str:
    """What went wrong, for people: secrets hidden, on one line."""
    leaf = next(iter(_leaves(error)), None)
    if leaf is None:
        return "it ended"
    if isinstance(leaf, FileNotFoundError) and leaf.filename:
        return f"there is no program {leaf.filename}"
    if isinstance(leaf, ValidationError):
        return "its answer is not what the protocol says"
    text = " ".join(mask(str(leaf)).split())[:_LONGEST_REASON]
    return text or type(leaf).__name__
