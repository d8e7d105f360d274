"""Where the documentation's code runs: an empty folder, no key of the user's, and the practice model for an API."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def api_url() -> Iterator[str]:
    """The simulator with the practice model, on the loopback address."""
    from turnkeeper import testing

    with testing.MessagesAPI(practice=True).listen() as url:
        yield url


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The reader's folder: what a page does happens here, with the settings of a new user."""
    for name in list(os.environ):
        if name.startswith(("ANTHROPIC_", "TURNKEEPER_", "XDG_")) or name in {"NO_COLOR", "FORCE_COLOR"}:
            monkeypatch.delenv(name)
    home = tmp_path / "home"
    folder = tmp_path / "project"
    home.mkdir()
    folder.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def reader_with_api(reader: Path, api_url: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same for code that says nothing of where the API is, as pages for readers with a key do."""
    monkeypatch.setenv("ANTHROPIC_BASE_URL", api_url)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-practice")
    return reader
