"""The simulator in-process: `MessagesAPI` gives SDK clients that talk to it, and shows what they sent."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

import anyio

from turnkeeper.errors import ConfigurationError, InputError
from turnkeeper.simulator.answerers import Answerer, PracticeAnswerer
from turnkeeper.simulator.delivery import Sleep
from turnkeeper.simulator.exchange import THREADS, Exchange, Options
from turnkeeper.simulator.faults import ConnectionFault, Fault, HTTPFault, StreamFault
from turnkeeper.simulator.ids import IdSource, SerialIds, random_ids
from turnkeeper.simulator.imitations import Imitation, find_imitation
from turnkeeper.simulator.ledger import Ledger, Record
from turnkeeper.simulator.scripts import Script
from turnkeeper.testing.fixed import FixedClock

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    import anthropic

    from turnkeeper.simulator.app import App

__all__ = ("MessagesAPI",)

BASE_URL = "http://simulator.turnkeeper.test"
KEY = "sk-ant-simulator"


class MessagesAPI:
    """A simulated Messages API for one test, without sockets; usable from any thread and event loop.

    `script` is a Script, one reply (for the first request), a list of replies, or a function that answers every
    request; `practice=True` puts the practice model in its place. With neither, every request is refused because
    there is no script. `faults` are scheduled by request: a mapping from its number (from 1, counting requests that
    the rules accept) to a fault or a list of them, or a sequence for the first requests (None: no fault). A fault
    of the schedule uses up no reply. Everything is deterministic: the clock stands still unless a delay or
    `clock.advance` moves it, ids count.

    `imitation` is `ollama`, `llama.cpp`, `vllm` or `litellm`; `strict=False` switches the rules off; `chunk` is the
    number of characters in a delta, `bytes_per_chunk` the number of bytes in a chunk of the body; `sleep` waits in
    place of the clock. `deterministic=False` takes real time and random ids, for use outside of tests.
    """

    def __init__(  # noqa: PLR0913 - all but the first are options by name
        self,
        script: Any = None,
        *,
        practice: bool = False,
        faults: Mapping[int, Any] | Sequence[Any] = (),
        strict: bool = True,
        imitation: str | Imitation | None = None,
        chunk: int | None = None,
        bytes_per_chunk: int | None = None,
        keep: int | None = None,
        clock: Callable[[], float] | None = None,
        sleep: Sleep | None = None,
        ids: IdSource | None = None,
        deterministic: bool = True,
    ) -> None:
        if practice and script is not None:
            raise InputError("give a script or practice=True, not both")
        for name, number in (("chunk", chunk), ("bytes_per_chunk", bytes_per_chunk)):
            if number is not None and number < 1:
                raise InputError(f"{name} is a number from 1 up, not {number}")
        self.clock = clock if isinstance(clock, FixedClock) else FixedClock()
        self.sleep: Sleep = sleep or (self.clock.sleep if deterministic else anyio.sleep)
        self.script: Script | None = None if practice else _script(script)
        model: Answerer = PracticeAnswerer() if self.script is None else self.script
        self.exchange = Exchange(
            model,
            Options(
                strict=strict,
                imitation=find_imitation(imitation),
                faults=_schedule(faults),
                chunk=chunk,
                bytes_per_chunk=bytes_per_chunk,
                keep=keep,
                clock=clock or (self.clock if deterministic else time.time),
                ids=ids or (SerialIds() if deterministic else random_ids),
            ),
        )
        self._sync_clients: list[anthropic.Anthropic] = []

    # ----- clients ---------------------------------------------------------------------------------------------------

    def client(self, **options: Any) -> anthropic.AsyncAnthropic:
        """An async SDK client of this API; no retries unless `max_retries` says so. Options are the SDK's."""
        import anthropic  # noqa: PLC0415 - a heavy import, needed here only
        import httpx2  # noqa: PLC0415

        from turnkeeper.testing.transports import AsyncTransport  # noqa: PLC0415

        transport = AsyncTransport(self.exchange, self.sleep)
        return anthropic.AsyncAnthropic(http_client=httpx2.AsyncClient(transport=transport), **_defaults(options))

    def sync_client(self, **options: Any) -> anthropic.Anthropic:
        """A sync SDK client of this API, closed with it; no retries unless `max_retries` says so."""
        import anthropic  # noqa: PLC0415
        import httpx2  # noqa: PLC0415

        from turnkeeper.testing.transports import SyncTransport  # noqa: PLC0415

        transport = SyncTransport(self.exchange, self.sleep)
        client = anthropic.Anthropic(http_client=httpx2.Client(transport=transport), **_defaults(options))
        self._sync_clients.append(client)
        return client

    @property
    def app(self) -> App:
        """A plain ASGI app of this API, with this API's sleep."""
        from turnkeeper.simulator.app import App  # noqa: PLC0415

        return App(self.exchange, sleep=self.sleep)

    def listen(self) -> contextlib.AbstractContextManager[str]:
        """Serve this API on a free port of 127.0.0.1 while the block runs; gives the base URL.

        Raises ConfigurationError where uvicorn isn't installed.
        """
        try:
            from turnkeeper.simulator.serving import listening  # noqa: PLC0415
        except ModuleNotFoundError as error:
            raise ConfigurationError(f"listen() needs {error.name}: install turnkeeper[cli]") from error
        return listening(self.exchange, sleep=self.sleep)

    # ----- what was asked and answered -------------------------------------------------------------------------------

    @property
    def ledger(self) -> Ledger:
        """Every request of every endpoint, the totals, the cost."""
        return self.exchange.ledger

    @property
    def requests(self) -> list[Record]:
        """What came to POST /v1/messages, oldest first: `.body`, `.raw`, `.headers`, `.status`, `.message`, …"""
        return [record for record in self.ledger.records if _is_message(record)]

    @property
    def replies(self) -> list[dict[str, Any]]:
        """The messages that were sent, as JSON (also the streamed ones)."""
        return [record.message for record in self.ledger.records if record.message is not None]

    @property
    def refusals(self) -> list[Record]:
        """Requests that were answered 4xx because of what they were; `.refusal` says which rule and where.

        Faults of a script don't count, nor does the refusal of message threads, after which clients go on without.
        """
        return [
            record for record in self.ledger.records if record.refusal is not None and record.refusal.rule != THREADS
        ]

    @property
    def unused_replies(self) -> int:
        """How many replies of the script no request has taken."""
        return 0 if self.script is None else self.script.left

    def cost(self) -> Decimal | None:
        """What the replies so far would have cost, in USD; None if a model's price isn't known."""
        return self.ledger.cost()

    def assert_all_accepted(self) -> None:
        """Raise AssertionError naming each request that was refused, with the rule and how to repair it."""
        refused = self.refusals
        if not refused:
            return
        lines = [f"{len(refused)} of {self.ledger.count} requests were refused:"]
        for record in refused:
            said = record.refusal
            assert said is not None
            lines.append(f"  request {record.number}, {record.method} {record.path}: {said.status} {said.type}")
            lines.append(f"    {said.message} (rule {said.rule}{f', at {said.path}' if said.path else ''})")
            if said.repair:
                lines.append(f"    to repair: {said.repair}")
        raise AssertionError("\n".join(lines)) from next((r.error for r in refused if r.error is not None), None)

    # ----- use as a context manager ----------------------------------------------------------------------------------

    def close(self) -> None:
        """Close the sync clients; the async ones hold nothing."""
        while self._sync_clients:
            self._sync_clients.pop().close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> Literal[False]:
        self.close()
        return False


def _defaults(options: dict[str, Any]) -> dict[str, Any]:
    credentials = {"api_key", "auth_token", "credentials", "config", "profile"}
    key = {} if credentials & set(options) else {"api_key": KEY}
    return {"base_url": BASE_URL, "max_retries": 0, **key, **options}


def _is_message(record: Record) -> bool:
    return record.method == "POST" and record.path.rstrip("/") == "/v1/messages"


def _script(script: Any) -> Script:
    if isinstance(script, Script):
        return script
    if script is None:
        return Script([])
    if callable(script):
        return Script([script], then="last")
    if isinstance(script, (list, tuple)):
        return Script(script)
    return Script([script])


def _schedule(faults: Mapping[int, Any] | Sequence[Any]) -> dict[int, tuple[Fault, ...]]:
    items = faults.items() if isinstance(faults, Mapping) else enumerate(faults, start=1)
    schedule: dict[int, tuple[Fault, ...]] = {}
    for number, given in items:
        if not isinstance(number, int) or number < 1:
            raise InputError(f"faults: {number!r} is no request number; the first is 1")
        row = tuple(given) if isinstance(given, (list, tuple)) else () if given is None else (given,)
        for fault in row:
            if not isinstance(fault, (HTTPFault, ConnectionFault, StreamFault)):
                raise InputError(f"faults[{number}]: expected a fault without a reply, found {fault!r:.80}")
        if row:
            schedule[number] = row
    return schedule
