"""The Pythons of the other libraries: made once, used again, and a clear end where they can't be made."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from benchmarks import peers
from benchmarks.peers import pythons_for

VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "turnkeeper" / "bench"


def test_what_is_installed_is_used_again_and_clients_of_this_python_need_none(cache: Path) -> None:
    folder = cache / f"llm-{VERSION}"
    folder.mkdir(parents=True)
    (folder / "complete").write_text("llm llm-anthropic")
    assert pythons_for(["httpx2_loop", "turnkeeper", "llm"]) == {"llm": str(folder / "bin" / "python")}
    assert [one.name for one in folder.iterdir()] == ["complete"]


def test_a_package_that_can_not_be_installed_ends_with_the_name_of_its_client(
    cache: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(peers, "ELSEWHERE", {"llm": ("./no-such-folder",)})
    with pytest.raises(SystemExit) as ended:
        pythons_for(["llm"])
    assert str(ended.value) == ("llm: ./no-such-folder could not be installed (see above); leave it out with --clients")
    assert not (cache / f"llm-{VERSION}" / "complete").exists()
    assert f"Installing ./no-such-folder into {cache / f'llm-{VERSION}'} ..." in capfd.readouterr().err
