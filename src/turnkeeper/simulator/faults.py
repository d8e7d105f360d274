"""What can go wrong on the way to the model, as values that a script or a schedule holds.

Three kinds: the API answers with an error status (`HTTPFault`), the connection fails before an answer
(`ConnectionFault`), or a reply is spoiled while it is delivered (`StreamFault`). Each function here builds one;
those that spoil a reply take it as their first argument, or nothing when they stand in a schedule (`faults=`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from turnkeeper.errors import InputError
from turnkeeper.simulator.envelope import ERROR_STATUS, error_type

__all__ = (
    "BUILDERS",
    "ConnectionFault",
    "Fault",
    "HTTPFault",
    "Spoiled",
    "StreamFault",
    "bad_request",
    "cut",
    "done_line",
    "duplicate_ids",
    "error_event",
    "gateway_timeout",
    "http_error",
    "invalid_json",
    "omit",
    "overloaded",
    "rate_limited",
    "refused",
    "reset",
    "server_error",
    "slow",
    "spend_cap",
    "too_large",
    "unauthenticated",
    "unknown_event",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class HTTPFault:
    """The API answers with an error status and its envelope; `html` answers with the proxy's page instead.

    `echo_key` appends the caller's key to the message, as careless gateways do.
    """

    status: int
    type: str
    message: str
    details: Mapping[str, Any] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    html: bool = False
    echo_key: bool = False


@dataclass(frozen=True, slots=True)
class ConnectionFault:
    """No response at all: the connection is refused, or reset after the request was sent."""

    how: Literal["refused", "reset"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamFault:
    """A reply spoiled while it is delivered; `kind` is the name of the function that built it.

    Where it strikes in the stream: after `after` events, in the middle of the first block of type (or at index)
    `inside`, before the first event named `before`, or (cuts only) after `bytes_` bytes of the body.
    """

    kind: str
    after: int | None = None
    inside: str | int | None = None
    before: str | None = None
    bytes_: int | None = None
    clean: bool = False
    type: str = ""
    message: str = ""
    data: Any = None
    what: str = ""
    first: float = 0.0
    between: float = 0.0

    def __post_init__(self) -> None:
        for name, number in (("after", self.after), ("bytes", self.bytes_)):
            if number is not None and (not isinstance(number, int) or isinstance(number, bool) or number < 0):
                raise InputError(f"{self.kind}: {name} is a number from 0 up, not {number!r}")
        for name, seconds in (("first", self.first), ("between", self.between)):
            if not isinstance(seconds, (int, float)) or seconds < 0:
                raise InputError(f"{self.kind}: {name} is a number of seconds, not {seconds!r}")


Fault: TypeAlias = HTTPFault | ConnectionFault | StreamFault


@dataclass(frozen=True, slots=True)
class Spoiled:
    """A scripted reply (any form a script takes) and the stream faults that spoil it, the innermost first."""

    reply: Any
    faults: tuple[StreamFault, ...]


# ----- the API answers with an error ------------------------------------------------------------------------------


def http_error(
    status: int,
    message: str = "Error",
    *,
    type: str | None = None,  # noqa: A002 - the envelope's own word
    details: Mapping[str, Any] | None = None,
    headers: Mapping[str, str] | None = None,
    html: bool = False,
) -> HTTPFault:
    """Any status with the API's envelope; `type` follows from the status unless given."""
    if not 400 <= status <= 599:
        raise InputError(f"status {status} is no error status; give 400 to 599")
    return HTTPFault(
        status=status,
        type=type or error_type(status),
        message=message,
        details=details,
        headers=dict(headers or {}),
        html=html,
    )


def rate_limited(retry_after: float | None = 1) -> HTTPFault:
    """429 `rate_limit_error`, with a `retry-after` header in seconds, or without one (None)."""
    headers = {} if retry_after is None else {"retry-after": f"{retry_after:g}"}
    return http_error(429, "This request would exceed your organization's rate limit.", headers=headers)


def spend_cap() -> HTTPFault:
    """429 because the tier's spend cap is reached: no `retry-after`; error_code `enforced_spend_limit_reached`."""
    details = {"error_code": "enforced_spend_limit_reached"}
    return http_error(429, "Your organization has reached its enforced spend limit.", details=details)


def overloaded() -> HTTPFault:
    """529 `overloaded_error`."""
    return http_error(529, "Overloaded")


def server_error() -> HTTPFault:
    """500 `api_error`."""
    return http_error(500, "Internal server error")


def gateway_timeout() -> HTTPFault:
    """504 `timeout_error`."""
    return http_error(504, "The request timed out.")


def bad_request(message: str, *, details: Mapping[str, Any] | None = None) -> HTTPFault:
    """400 `invalid_request_error` with a message of your choice."""
    return http_error(400, message, details=details)


def unauthenticated(*, echo_key: bool = False) -> HTTPFault:
    """401 `authentication_error`; with `echo_key` its message repeats the key that the request carried."""
    return HTTPFault(status=401, type="authentication_error", message="invalid x-api-key", echo_key=echo_key)


def too_large() -> HTTPFault:
    """413 as the proxy answers it: an HTML page without a request id."""
    return http_error(413, "Request Entity Too Large", html=True)


# ----- the connection fails before an answer ----------------------------------------------------------------------


def refused() -> ConnectionFault:
    """The connection is refused. Over a real socket it is accepted and aborted (a listening port can't refuse)."""
    return ConnectionFault("refused")


def reset() -> ConnectionFault:
    """The connection is reset after the request was sent, before any byte of an answer."""
    return ConnectionFault("reset")


# ----- a reply is spoiled while it is delivered -------------------------------------------------------------------


def _spoil(reply: Any, fault: StreamFault) -> Spoiled | StreamFault:
    if reply is None:
        return fault
    if isinstance(reply, Spoiled):
        return Spoiled(reply.reply, (*reply.faults, fault))
    return Spoiled(reply, (fault,))


def cut(
    reply: Any = None,
    *,
    after: int | None = None,
    inside: str | int | None = None,
    before: str | None = None,
    bytes: int | None = None,  # noqa: A002 - reads best in a script
    clean: bool = False,
) -> Spoiled | StreamFault:
    """The stream ends early: after N events, inside a block (its type or index), before an event, or after N bytes.

    The connection is dropped without the final chunk; `clean=True` ends the body properly instead, as a proxy does
    that lost its own upstream. A reply that isn't streamed is cut in the middle of its JSON, or after `bytes`.
    """
    if sum(place is not None for place in (after, inside, before, bytes)) != 1:
        raise InputError("a cut needs one place: after=N, inside=BLOCK, before=EVENT or bytes=N")
    fault = StreamFault(kind="cut", after=after, inside=inside, before=before, bytes_=bytes, clean=clean)
    return _spoil(reply, fault)


def error_event(
    reply: Any = None,
    *,
    type: str = "overloaded_error",  # noqa: A002 - the envelope's own word
    message: str = "Overloaded",
    after: int = 3,
) -> Spoiled | StreamFault:
    """`event: error` after N events, then the body ends. A reply that isn't streamed becomes that HTTP error."""
    if type not in ERROR_STATUS:
        raise InputError(f"{type!r} is no error type of the API; one of {', '.join(ERROR_STATUS)}")
    return _spoil(reply, StreamFault(kind="error_event", after=after, type=type, message=message))


def invalid_json(reply: Any = None, *, after: int = 2) -> Spoiled | StreamFault:
    """A data line that isn't JSON after N events; the stream goes on. Not streamed: the body isn't JSON."""
    return _spoil(reply, StreamFault(kind="invalid_json", after=after))


def unknown_event(
    reply: Any = None,
    name: str = "future_event",
    data: Any = None,
    *,
    after: int = 1,
) -> Spoiled | StreamFault:
    """An event that no client knows, after N events; clients must pass over it. Not streamed: nothing changes."""
    content = {"type": name, "note": "unknown on purpose"} if data is None else data
    return _spoil(reply, StreamFault(kind="unknown_event", after=after, what=name, data=content))


def omit(reply: Any = None, what: str = "message_stop") -> Spoiled | StreamFault:
    """Leave out every event named `what` (such as `message_stop`), or every `usage` object (`usage`)."""
    return _spoil(reply, StreamFault(kind="omit", what=what))


def done_line(reply: Any = None) -> Spoiled | StreamFault:
    """A `data: [DONE]` line at the end of the stream, which the API never sends and compatible endpoints do."""
    return _spoil(reply, StreamFault(kind="done_line"))


def duplicate_ids(reply: Any = None) -> Spoiled | StreamFault:
    """Every call of the reply gets the id of the first."""
    return _spoil(reply, StreamFault(kind="duplicate_ids"))


def slow(reply: Any = None, *, first: float = 0.0, between: float = 0.0) -> Spoiled | StreamFault:
    """Wait `first` seconds before the response begins and `between` seconds before each delta."""
    return _spoil(reply, StreamFault(kind="slow", first=first, between=between))


BUILDERS: Mapping[str, Any] = {
    builder.__name__: builder
    for builder in (
        http_error,
        rate_limited,
        spend_cap,
        overloaded,
        server_error,
        gateway_timeout,
        bad_request,
        unauthenticated,
        too_large,
        refused,
        reset,
        cut,
        error_event,
        invalid_json,
        unknown_event,
        omit,
        done_line,
        duplicate_ids,
        slow,
    )
}
"""Fault kind, as script files name it, -> the function that builds it."""
