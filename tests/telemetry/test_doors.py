"""Telemetry from outside: switched on by the environment, and the trace of a request over the web."""

from __future__ import annotations

import subprocess
import sys

from tests.telemetry.conftest import Kept, id_of
from tests.web.served import Customer, serving
from turnkeeper.telemetry import TraceContextMiddleware
from turnkeeper.testing import script
from turnkeeper.web import app

TRACE = "0af7651916cd43dd8448eb211c80319c"

PROGRAM = """
import os
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

exporter = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)

import turnkeeper as tk
from turnkeeper.testing import MessagesAPI, script

for value in ("", "0", "1", "1"):
    os.environ["TURNKEEPER_TELEMETRY"] = value
    tk.Agent(client=MessagesAPI(script("Hi.")), model="claude-opus-4-8").run_sync("Hello")
    print(*[span.name for span in exporter.get_finished_spans()], sep=", ")
    exporter.clear()
"""


def test_the_environment_switches_it_on_for_every_agent() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.stdout.splitlines(), done.stderr) == (["", "", *["chat claude-opus-4-8, invoke_agent"] * 2], "")


def test_a_message_over_the_web_begins_its_turn_in_the_trace_of_its_request(kept: Kept) -> None:
    door = app(kept.agent(kept.api(script("Hi."))), secret="s" * 32)
    with serving(TraceContextMiddleware(door)) as base, Customer(base) as customer:
        conversation = customer.new()
        customer.http.headers["traceparent"] = f"00-{TRACE}-b7ad6b7169203331-01"
        assert customer.say(conversation, "hi").status_code == 202
        with customer.stream(conversation) as stream:
            stream.until("ended")
    turn = kept.only("invoke_agent desk")
    assert turn.parent is not None
    assert (f"{turn.parent.trace_id:032x}", f"{turn.parent.span_id:016x}") == (TRACE, "b7ad6b7169203331")
    assert kept.spans[1].parent is not None
    assert kept.spans[1].parent.span_id == id_of(turn)
