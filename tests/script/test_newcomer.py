"""What the README tells a newcomer to run, as it stands there: the demo, and the installation."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def commands() -> list[str]:
    """The lines of the README's console blocks, without prompt and remark."""
    found: list[str] = []
    inside = False
    for line in (ROOT / "README.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("```"):
            inside = line == "```console"
        elif inside and line.startswith("$ "):
            found.append(line[2:].partition(" #")[0].strip())
    return found


def clean() -> dict[str, str]:
    """The environment of a user without any setting of ours."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("ANTHROPIC_", "TURNKEEPER_"))}


def test_the_readme_names_these_commands() -> None:
    assert commands() == ["script/demo", "python3 -m pip install '.[all]'"]


def test_the_demo_plays_a_conversation_on_a_real_database_and_ends(tmp_path: Path) -> None:
    done = subprocess.run(
        ["script/demo"],
        cwd=ROOT,
        env=clean() | {"HOME": str(tmp_path), "PYTHON": sys.executable},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "24601" in done.stdout
    assert "Cancelled" in done.stdout


@pytest.mark.slow
def test_the_installation_gives_a_command_that_answers(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True, timeout=120)
    env = clean() | {"HOME": str(tmp_path), "PATH": f"{tmp_path}/venv/bin{os.pathsep}{os.environ['PATH']}"}
    install = ["sh", "-c", commands()[1]]
    subprocess.run(install, cwd=ROOT, env=env, check=True, capture_output=True, timeout=900)
    asked = subprocess.run(
        ["turnkeeper", "ask", "Who are you?"],
        env=env,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert "practice model" in asked.stdout
