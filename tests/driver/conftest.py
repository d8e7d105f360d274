"""What the driver's tests share: an agent over the simulator, in both ways of asking."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import turnkeeper as tk
from turnkeeper.testing import FixedClock, MessagesAPI

MODEL = "claude-opus-4-8"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(params=["stream", "whole"])
def stream(request: pytest.FixtureRequest) -> bool:
    return bool(request.param == "stream")


Make = Callable[..., tk.Agent]


@pytest.fixture
def make(stream: bool) -> Make:
    """Builds an agent over an API; runs the test once streaming and once not."""
    return lambda api, **options: agent_over(api, stream=stream, **options)


def agent_over(api: Any, **options: Any) -> tk.Agent:
    clock = options.pop("clock", None) or FixedClock()
    settings: dict[str, Any] = {
        "model": MODEL,
        "max_tokens": 1000,
        "chance": lambda: 0.0,
        "clock": clock,
        "sleep": clock.sleep,
    }
    return tk.Agent(client=api, **(settings | options))


def sent(api: MessagesAPI, number: int) -> dict[str, Any]:
    """The body of a request to POST /v1/messages, counted from 0."""
    body = api.requests[number].body
    assert body is not None
    return body
