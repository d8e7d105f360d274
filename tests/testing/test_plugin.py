"""The pytest plugin, in a pytest run of its own as users have it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from turnkeeper.testing import FixedClock, FixedIds, MessagesAPI

CREATE = """
CREATE = {"model": "claude-opus-5-5", "max_tokens": 9, "messages": [{"role": "user", "content": "?"}]}
"""


def run(folder: Path, code: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_it.py").write_text(CREATE + code, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error", "test_it.py"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=120)


def test_the_fixtures_share_clock_and_ids(
    messages_api: Callable[..., MessagesAPI], fixed_clock: FixedClock, fixed_ids: FixedIds
) -> None:
    api = messages_api("eins", "zwei", keep=5)
    assert api.clock is fixed_clock
    assert len(api.script or ()) == 2
    client = api.sync_client()
    assert client.messages.create(
        model="claude-opus-5-5", max_tokens=9, messages=[{"role": "user", "content": "?"}]
    ).id == ("msg_000001")
    assert fixed_ids("msg") == "msg_000002"
    with pytest.raises(ValueError, match="refusals is 'fail' or 'allow', not 'maybe'"):
        messages_api("x", refusals="maybe")


def test_a_test_whose_requests_are_accepted_passes(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
def test_it(messages_api):
    api = messages_api("Guten Tag")
    assert api.sync_client().messages.create(**CREATE).content[0].text == "Guten Tag"

def test_practice(messages_api):
    assert messages_api(practice=True).sync_client().messages.create(**CREATE).stop_reason == "end_turn"

def test_script(messages_api):
    from turnkeeper.testing import script
    client = messages_api(script("a", then="last")).sync_client()
    assert [client.messages.create(**CREATE).content[0].text for _ in range(3)] == ["a", "a", "a"]
""",
    )
    assert (done.returncode, done.stdout.splitlines()[-1].split(" in ")[0]) == (0, "3 passed"), done.stdout


def test_a_test_fails_when_one_of_its_requests_was_refused(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
import anthropic, pytest

def test_hidden(messages_api):
    with pytest.raises(anthropic.BadRequestError):
        messages_api().sync_client().messages.create(**CREATE)

def test_meant(messages_api):
    with pytest.raises(anthropic.BadRequestError):
        messages_api(refusals="allow").sync_client().messages.create(**CREATE)
""",
    )
    assert done.stdout.splitlines()[-1].split(" in ")[0] == "2 passed, 1 error", done.stdout
    assert "1 of 1 requests were refused:" in done.stdout
    assert "the script has no more replies for this request" in done.stdout
