"""Turns as spans and metrics: `invoke_agent` around `chat` (one for each try of a request) and `execute_tool`."""

from __future__ import annotations

import functools
import hashlib
import hmac
import importlib.metadata
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from opentelemetry import context as otel_context
from opentelemetry import metrics, trace
from opentelemetry.trace import SpanKind, set_span_in_context

from turnkeeper.errors import ConfigurationError
from turnkeeper.telemetry.conventions import CONVENTIONS, NEWEST, PROVIDER
from turnkeeper.telemetry.instruments import Instruments
from turnkeeper.telemetry.port import Drive
from turnkeeper.telemetry.propagation import link_to
from turnkeeper.telemetry.stretch import Kit, Stretch

__all__ = ("Telemetry", "from_environment")

_SWITCH, _CONTENT = "TURNKEEPER_TELEMETRY", "TURNKEEPER_TELEMETRY_CONTENT"
_NO = ("", "0", "false", "no", "off")


class Telemetry:
    """What an agent is given as `observer`.

    Args:
        content: Record prompts, arguments and results too; else the environment variable
            TURNKEEPER_TELEMETRY_CONTENT says, else not. Secrets are masked also then.
        user_key: A secret of yours; with it, spans have a `user.id`: a keyed hash of the principal. Without, none.
        semconv: The version of the conventions, a key of `CONVENTIONS`.
        tracer_provider, meter_provider: In place of OpenTelemetry's global ones.
        clock: Seconds, for durations; replaced in tests.

    ConfigurationError for an unknown version.
    """

    def __init__(
        self,
        *,
        content: bool | None = None,
        user_key: str | bytes | None = None,
        semconv: str = NEWEST,
        tracer_provider: trace.TracerProvider | None = None,
        meter_provider: metrics.MeterProvider | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        names = CONVENTIONS.get(semconv)
        if names is None:
            raise ConfigurationError(f"semconv is one of {', '.join(CONVENTIONS)}, not {semconv!r}")
        version = importlib.metadata.version("turnkeeper")
        meter = metrics.get_meter("turnkeeper", version, meter_provider)
        self._kit = Kit(
            names=names,
            tracer=trace.get_tracer("turnkeeper", version, tracer_provider),
            instruments=Instruments.of(meter, names),
            content=_is_on(os.environ.get(_CONTENT)) if content is None else content,
            clock=clock,
        )
        self._user_key = user_key.encode() if isinstance(user_key, str) else user_key

    @contextmanager
    def drive(self, about: Drive) -> Iterator[Stretch]:
        """Around one stretch of a turn; see `turnkeeper.telemetry.port`."""
        kit, names = self._kit, self._kit.names
        attributes: dict[str, Any] = {
            names.operation: names.invoke_agent,
            names.provider: PROVIDER,
            names.conversation: about.conversation_id,
            names.request_model: about.model,
            "session.id": about.conversation_id,
            "turnkeeper.turn.resumed": about.resumed,
        }
        if about.agent:
            attributes[names.agent] = about.agent
        if self._user_key is not None and about.principal is not None:
            said = f"{about.principal.kind}\0{about.principal.id}".encode()
            attributes["user.id"] = hmac.new(self._user_key, said, hashlib.sha256).hexdigest()[:32]
        links = [found for one in about.traces if (found := link_to(one, **{"turnkeeper.link": "earlier_stretch"}))]
        span = kit.tracer.start_span(
            f"{names.invoke_agent} {about.agent}".rstrip(), kind=SpanKind.INTERNAL, attributes=attributes, links=links
        )
        stretch = Stretch(kit, about, span)
        token = otel_context.attach(set_span_in_context(span))
        try:
            yield stretch
        except BaseException as error:
            stretch.broke(error)
            raise
        finally:
            otel_context.detach(token)
            stretch.close()


def from_environment(environ: Mapping[str, str] | None = None) -> Telemetry | None:
    """A `Telemetry` where TURNKEEPER_TELEMETRY is set (to anything but 0, no, false or off), else None.

    TURNKEEPER_TELEMETRY_CONTENT and TURNKEEPER_TELEMETRY_USER_KEY are its `content` and `user_key`.
    """
    found = os.environ if environ is None else environ
    if not _is_on(found.get(_SWITCH)):
        return None
    return _made(_is_on(found.get(_CONTENT)), found.get(f"{_SWITCH}_USER_KEY") or None)


@functools.cache
def _made(content: bool, user_key: str | None) -> Telemetry:
    """One for all agents: the instruments of a meter are made once."""
    return Telemetry(content=content, user_key=user_key)


def _is_on(text: str | None) -> bool:
    return (text or "").strip().lower() not in _NO
