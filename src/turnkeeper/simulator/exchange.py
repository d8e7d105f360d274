"""The Messages API without HTTP: a request as values in, a delivery (status, headers, body in steps) out.

The doors to it are the in-process transports of `turnkeeper.testing` and the ASGI app. A request passes, in this
order: the door (path, method, size, key, version, JSON), the rules, the fault that a schedule holds for it, the
script or practice model.
"""

from __future__ import annotations

import datetime
import functools
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qsl

from turnkeeper.models import base_id, find
from turnkeeper.simulator.answerers import Answerer
from turnkeeper.simulator.cache import InputTokens
from turnkeeper.simulator.delivery import (
    ConnectionDroppedError,
    Delivery,
    Sleep,
    Step,
    json_steps,
    spoil_events,
    spoil_message,
    stream_steps,
)
from turnkeeper.simulator.door import check_door, find_endpoint, read_body
from turnkeeper.simulator.encoding import dump
from turnkeeper.simulator.envelope import ERROR_STATUS, TOO_LARGE_PAGE, error_body
from turnkeeper.simulator.faults import ConnectionFault, Fault, HTTPFault, StreamFault
from turnkeeper.simulator.ids import IdSource, random_ids
from turnkeeper.simulator.imitations import Imitation
from turnkeeper.simulator.ledger import Ledger, Record, Refusal
from turnkeeper.simulator.model_pages import model_list, model_page
from turnkeeper.simulator.prompt import count_tokens
from turnkeeper.simulator.rate_limits import RateLimits
from turnkeeper.simulator.replies import PREWARM, build_message, plain
from turnkeeper.simulator.rules import RULES, judge, prefix_digest
from turnkeeper.simulator.rules.view import RequestView
from turnkeeper.simulator.scripts import Entry, ScriptedReply, ScriptExhaustedError
from turnkeeper.simulator.seals import seal
from turnkeeper.simulator.sent import SentMemory
from turnkeeper.simulator.stream import events_of, scripted_events

__all__ = ("THREADS", "Exchange", "Incoming", "Options")

HTML = "text/html; charset=UTF-8"
JSON = "application/json"
THREADS = "request.thread"
"""The rule that refuses message threads; it holds without the others too, for the SDK falls back on it."""
EVENT_STREAM = "text/event-stream; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Incoming:
    """One HTTP request. Header names are lower-case; `query` is the raw query string."""

    method: str
    path: str
    headers: Mapping[str, str]
    raw: bytes = b""
    query: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How an exchange behaves.

    `strict`: judge requests by the rules of the API. `faults`: what goes wrong with the n-th accepted request (from
    1). `chunk`: characters in a delta (None: words and fields); `bytes_per_chunk`: bytes in a chunk of the body
    (None: one event each). `keep`: how many requests the ledger keeps. `clock` gives seconds since 1970.
    """

    strict: bool = True
    imitation: Imitation | None = None
    faults: Mapping[int, Sequence[Fault]] | None = None
    chunk: int | None = None
    bytes_per_chunk: int | None = None
    keep: int | None = None
    clock: Callable[[], float] = time.time
    ids: IdSource = random_ids


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A reply that is ready to be sent; `whole` says that a JSON body has its full length."""

    message: dict[str, Any]
    tokens: InputTokens
    faults: tuple[StreamFault, ...]
    steps: list[Step]
    whole: bool
    prefix: Callable[[], str]


class Exchange:
    """One simulated API: a model's answers, the rules, and a ledger. Usable from any thread and event loop."""

    def __init__(self, model: Answerer, options: Options | None = None) -> None:
        self.options = options or Options()
        self.ledger = Ledger(keep=self.options.keep)
        self._model = model
        # Replies are small beside the requests that repeat them; more of them are remembered, for the rules' sake.
        self._sent = SentMemory(keep=None if self.options.keep is None else max(self.options.keep, 1_000))
        self._limits = RateLimits()
        self._accepted = 0
        self._lock = threading.Lock()

    async def handle(self, incoming: Incoming, *, sleep: Sleep) -> Delivery:
        """Answer one request. Raises ConnectionDroppedError where a fault leaves it without a response."""
        record = self.ledger.open(
            time=self.options.clock(),
            method=incoming.method,
            path=incoming.path,
            headers=incoming.headers,
            raw=incoming.raw,
        )
        try:
            return await self._respond(record, incoming, sleep)
        except ConnectionDroppedError as dropped:
            record.outcome = "reset" if dropped.how == "reset" else "refused"
            raise
        except BaseException:
            record.outcome = "abandoned"
            raise

    async def _respond(self, record: Record, incoming: Incoming, sleep: Sleep) -> Delivery:
        refusal = self._turned_away(incoming)
        if refusal is not None:
            return self._refuse(record, refusal)
        endpoint = find_endpoint(incoming.path)
        today = datetime.datetime.fromtimestamp(record.time, datetime.UTC).date()
        if endpoint is not None and endpoint.name == "models":
            return self._json(record, model_list(dict(parse_qsl(incoming.query)), today=today))
        if endpoint is not None and endpoint.name == "model":
            page = model_page(endpoint.id, today=today)
            if page is None:
                text = f"model: {endpoint.id}"
                return self._refuse(record, Refusal("model", "model", 404, "not_found_error", text))
            return self._json(record, page)
        body = read_body(incoming.raw)
        if isinstance(body, Refusal):
            return self._refuse(record, body)
        record.body = body
        count_only = endpoint is not None and endpoint.name == "count_tokens"
        refusal = self._judge(record, count_only)
        if refusal is not None:
            return self._refuse(record, refusal)
        if count_only:
            return self._json(record, {"input_tokens": count_tokens(body)})
        return await self._message(record, body, sleep)

    # ----- refusals ------------------------------------------------------------------------------------------------

    def _turned_away(self, incoming: Incoming) -> Refusal | None:
        imitation = self.options.imitation
        headers = incoming.headers
        if imitation is not None:
            # Compatible endpoints ask for neither key nor version.
            headers = {"x-api-key": "-", "anthropic-version": "2023-06-01"}
            if not imitation.count_tokens and incoming.path.rstrip("/").endswith("/count_tokens"):
                return Refusal("path", incoming.path, 404, "not_found_error", "404 page not found")
        return check_door(incoming.method, incoming.path, headers, len(incoming.raw))

    def _judge(self, record: Record, count_only: bool) -> Refusal | None:
        body = record.body or {}
        imitation = self.options.imitation
        if imitation is not None:
            refused = imitation.refusal_of(body)
            if refused is None:
                return None
            how, text = refused
            return Refusal(f"imitation.{imitation.name}", "tool_choice", how.status, how.type, text)
        model = find(str(body.get("model")))
        if self.options.strict:
            faults = judge(
                body,
                headers=record.headers,
                model=model,
                sent=self._sent,
                endpoint="count_tokens" if count_only else "messages",
                body_bytes=len(record.raw),
                input_tokens=count_tokens(body),
            )
        else:
            view = RequestView(body=body, headers=record.headers, model=model)
            faults = [fault for rule in RULES if rule.id == THREADS for fault in rule.faults(view)]
        if not faults:
            return None
        fault = faults[0]
        return Refusal(
            fault.rule, fault.path, fault.status, fault.error_type, fault.message, fault.repair, fault.details
        )

    def _refuse(self, record: Record, refusal: Refusal) -> Delivery:
        record.refusal = refusal
        if refusal.status == 413:
            return self._page(record, 413, TOO_LARGE_PAGE)
        return self._error(record, refusal.status, refusal.type, refusal.message, details=refusal.details)

    # ----- messages ------------------------------------------------------------------------------------------------

    async def _message(self, record: Record, body: dict[str, Any], sleep: Sleep) -> Delivery:
        scheduled = self._scheduled()
        for fault in scheduled:
            if not isinstance(fault, StreamFault):
                return self._fail(record, fault)
        try:
            entry = await self._answer(body, keep=bool(scheduled))
            prepared = self._prepare(record, body, entry, scheduled)
        except ScriptExhaustedError:
            text = "the script has no more replies for this request; add one, or make it with then='repeat' or 'last'"
            return self._refuse(record, Refusal("script", "", 400, "invalid_request_error", text))
        except Exception as error:  # noqa: BLE001 - whatever a script's function raises is the test's business
            record.error = error
            text = f"the script failed on this request: {type(error).__name__}: {error}"
            return self._refuse(record, Refusal("script", "", 400, "invalid_request_error", text))
        if isinstance(prepared, (HTTPFault, ConnectionFault)):
            return self._fail(record, prepared)
        streamed = body.get("stream") is True
        for fault in prepared.faults:
            if fault.kind == "slow" and fault.first:
                await sleep(fault.first)
            elif fault.kind == "error_event" and not streamed:
                return self._error(record, ERROR_STATUS[fault.type], fault.type, fault.message)
        sent = plain(prepared.message)
        self.ledger.begin(record, prepared.tokens, sent, now=self.options.clock())
        content = sent["content"] if isinstance(sent.get("content"), list) else []
        blocks = [block for block in content if isinstance(block, dict)]
        self._sent.remember(blocks, model=base_id(str(body.get("model"))), prefix=prepared.prefix)
        kind = EVENT_STREAM if streamed else JSON
        return self._deliver(record, 200, kind, prepared.steps, length=prepared.whole and not streamed)

    def _scheduled(self) -> Sequence[Fault]:
        with self._lock:
            self._accepted += 1
            return (self.options.faults or {}).get(self._accepted, ())

    def _prepare(
        self, record: Record, body: dict[str, Any], entry: Entry, scheduled: Sequence[Fault]
    ) -> _Prepared | HTTPFault | ConnectionFault:
        if not isinstance(entry, ScriptedReply):
            return entry
        faults = (*entry.faults, *(fault for fault in scheduled if isinstance(fault, StreamFault)))
        entry = replace(entry, faults=faults)
        tokens = self.ledger.account(body, now=record.time)
        prefix = functools.cache(lambda: prefix_digest(body))
        message = self._build(entry, body, tokens, lambda block: seal(block, prefix=prefix()))
        steps, whole = self._steps(entry, message, streamed=body.get("stream") is True)
        return _Prepared(message, tokens, faults, steps, whole, prefix)

    async def _answer(self, body: dict[str, Any], *, keep: bool) -> Entry:
        if body.get("max_tokens") == 0:
            return PREWARM
        imitation = self.options.imitation
        if imitation is not None:
            body = imitation.seen(body)
        return await self._model.answer(body, keep=keep)

    def _build(
        self, entry: ScriptedReply, body: dict[str, Any], tokens: InputTokens, sign: Callable[[dict[str, Any]], str]
    ) -> dict[str, Any]:
        message = build_message(
            entry,
            body,
            input_usage=tokens.usage(),
            ids=self.options.ids,
            sign=sign,
            imitation=self.options.imitation,
        )
        imitation = self.options.imitation
        if imitation is not None and body.get("stream") is True and message["stop_reason"] == "tool_use":
            message["stop_reason"] = imitation.streamed_stop_reason or "tool_use"
        return spoil_message(message, entry.faults)

    def _steps(self, entry: ScriptedReply, message: dict[str, Any], *, streamed: bool) -> tuple[list[Step], bool]:
        size = self.options.bytes_per_chunk
        if not streamed:
            return json_steps(plain(message), entry.faults, size)
        faults = entry.faults
        if self.options.imitation is not None and self.options.imitation.done_line:
            faults = (*faults, StreamFault(kind="done_line"))
        if entry.events is not None:
            events = scripted_events(entry.events)
        else:
            chunk = entry.chunk or self.options.chunk
            events = list(events_of(message, chunk=chunk, start_usage=entry.start_usage, delta_usage=entry.delta_usage))
        return stream_steps(spoil_events(events, faults), faults, size), True

    # ----- answers -------------------------------------------------------------------------------------------------

    def _fail(self, record: Record, fault: HTTPFault | ConnectionFault) -> Delivery:
        if isinstance(fault, ConnectionFault):
            raise ConnectionDroppedError(fault.how)
        if fault.html:
            return self._page(record, fault.status, TOO_LARGE_PAGE)
        message = fault.message
        if fault.echo_key:
            bearer = record.headers.get("authorization", "").removeprefix("Bearer ")
            message = f"{message}: {record.headers.get('x-api-key') or bearer}"
        return self._error(
            record, fault.status, fault.type, message, details=fault.details, headers=list(fault.headers.items())
        )

    def _error(
        self,
        record: Record,
        status: int,
        type_: str,
        message: str,
        *,
        details: Mapping[str, Any] | None = None,
        headers: Sequence[tuple[str, str]] = (),
    ) -> Delivery:
        request_id = self.options.ids("req")
        body = error_body(type_, message, request_id=request_id, details=details)
        return self._deliver(record, status, JSON, [body], headers=headers, length=True, request_id=request_id)

    def _json(self, record: Record, value: Mapping[str, Any]) -> Delivery:
        return self._deliver(record, 200, JSON, [dump(value)], length=True)

    def _page(self, record: Record, status: int, page: bytes) -> Delivery:
        """An answer of the proxy in front of the API: no request id, no rate limits."""
        headers = [("server", "cloudflare"), ("content-type", HTML), ("content-length", str(len(page)))]
        return self._on_the_way(record, status, headers, [page])

    def _deliver(
        self,
        record: Record,
        status: int,
        content_type: str,
        steps: list[Step],
        *,
        headers: Sequence[tuple[str, str]] = (),
        length: bool = False,
        request_id: str | None = None,
    ) -> Delivery:
        all_headers = [
            ("content-type", content_type),
            ("request-id", request_id or self.options.ids("req")),
            ("anthropic-organization-id", "00000000-0000-4000-8000-000000000000"),
            *self._limits.count(record.usage, now=self.options.clock()),
            *headers,
        ]
        if length:
            all_headers.append(("content-length", str(sum(len(step) for step in steps if isinstance(step, bytes)))))
        elif content_type == EVENT_STREAM:
            all_headers.append(("cache-control", "no-cache"))
        return self._on_the_way(record, status, all_headers, steps)

    def _on_the_way(self, record: Record, status: int, headers: list[tuple[str, str]], steps: list[Step]) -> Delivery:
        record.status = status
        record.response_headers = dict(headers)

        def ended(how: Any) -> None:
            record.outcome = how

        return Delivery(status, headers, steps, on_end=ended)
