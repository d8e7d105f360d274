"""Each client of the benchmark holds a short conversation with the scripted server, which checks every request."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from benchmarks.__main__ import measure, server
from benchmarks.clients import CLIENTS, ELSEWHERE


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with server(None) as address:
        yield address


@pytest.mark.parametrize(("mode", "stream"), [("sync", False), ("async", True)])
@pytest.mark.parametrize("client", [name for name in CLIENTS if name not in ELSEWHERE])
def test_a_client_finishes_the_conversation_with_legal_requests(client: str, mode: str, stream: bool, url: str) -> None:
    scenario = {"mode": mode, "stream": stream, "rounds": 4, "calls": 2, "result_bytes": 50, "url": url, "cpu": None}
    result = measure(client, scenario, 60)
    assert isinstance(result, dict), result
    assert len(result["growth_ms"]) == 3
    assert set(result["versions"]) & {"anthropic", "httpx2"}
