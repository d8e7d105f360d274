"""The environment that the scripts make, tested without a network: a stand-in for uv notes what it is asked to do."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HERE = shlex.quote(sys.executable)
PROGRAMS = ("sh", "cat", "cksum", "dirname", "rm", "sleep", "mkdir", "ln")

UV = f"""#!/bin/sh
echo "$*" >>"$UV_LOG"
for venv; do :; done
case $1 in
    venv) mkdir -p "$venv/bin" && ln -s {HERE} "$venv/bin/python" ;;
    pip) exit "${{UV_STATUS:-0}}" ;;
esac
"""
PYTHON = f"""#!/bin/sh
exec {HERE} "$@"
"""
OLD_PYTHON = "#!/bin/sh\nexit 1\n"
BARE_PYTHON = f"""#!/bin/sh
case "$*" in *ensurepip*) exit 1 ;; esac
exec {HERE} "$@"
"""
SCRIPT = """#!/bin/sh
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
. "$root/script/environment.sh"
environment "$1"
echo ready
"""


@dataclass(frozen=True)
class Checkout:
    """A small checkout in a folder with a space in its name, and a PATH with only what a test puts there."""

    root: Path
    bin: Path

    @property
    def log(self) -> Path:
        return self.bin / "uv.log"

    def program(self, name: str, text: str) -> None:
        (self.bin / name).write_text(text)
        (self.bin / name).chmod(0o755)

    def run(self, layer: str = "dev", **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.root / "script" / "check", layer],
            env={"PATH": str(self.bin), "UV_LOG": str(self.log), **environment},
            cwd="/",
            check=False,
            capture_output=True,
            text=True,
            timeout=60,
        )

    def asked(self) -> list[str]:
        """What uv was asked since the last look, the checkout's folder left out."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        self.log.unlink(missing_ok=True)
        return [line.replace(str(self.root), "ROOT") for line in lines]


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    root = tmp_path / "a b" / "проект"
    (root / "script").mkdir(parents=True)
    (root / "requirements").mkdir()
    shutil.copy(ROOT / "script" / "environment.sh", root / "script")
    (root / "script" / "check").write_text(SCRIPT)
    (root / "script" / "check").chmod(0o755)
    for name in ("build", "runtime", "dev"):
        (root / "requirements" / f"{name}.txt").write_text(f"{name}==1\n")
    (root / "pyproject.toml").write_text("[project]\n")
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in PROGRAMS:
        found = shutil.which(name)
        assert found, name
        (programs / name).symlink_to(found)
    return Checkout(root, programs)


@pytest.fixture
def with_uv(checkout: Checkout) -> Checkout:
    checkout.program("uv", UV)
    checkout.program("python3", PYTHON)
    return checkout


PINNED = "pip install --quiet --python ROOT/.venv/bin/python --require-hashes -r ROOT/requirements/build.txt"
MADE = "venv --quiet --no-project --allow-existing --python python3 ROOT/.venv"
DEV = f"{PINNED} -r ROOT/requirements/dev.txt"
RUNTIME = f"{PINNED} -r ROOT/requirements/runtime.txt"
PROJECT = "pip install --quiet --python ROOT/.venv/bin/python --no-deps --no-build-isolation --editable ."


def test_the_first_run_makes_everything_and_the_second_asks_for_nothing(with_uv: Checkout) -> None:
    assert with_uv.run().stdout == "ready\n"
    assert with_uv.asked() == [MADE, DEV, PROJECT]
    again = with_uv.run()
    assert (again.stdout, again.stderr) == ("ready\n", "")
    assert with_uv.asked() == []


def test_only_what_changed_is_installed_again(with_uv: Checkout) -> None:
    with_uv.run()
    with_uv.asked()
    (with_uv.root / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    with_uv.run()
    assert with_uv.asked() == [PROJECT]
    (with_uv.root / "requirements" / "dev.txt").write_text("dev==2\n")
    with_uv.run()
    assert with_uv.asked() == [DEV]


def test_the_packages_for_development_contain_those_of_the_runtime(with_uv: Checkout) -> None:
    with_uv.run("runtime")
    assert with_uv.asked() == [MADE, RUNTIME, PROJECT]
    with_uv.run("dev")
    assert with_uv.asked() == [DEV]
    with_uv.run("runtime")
    assert with_uv.asked() == []


def test_a_failed_install_is_reported_and_tried_again(with_uv: Checkout) -> None:
    failed = with_uv.run(UV_STATUS="1")
    assert failed.returncode == 1
    assert "could not be installed" in failed.stderr
    assert with_uv.asked() == [MADE, DEV]
    assert with_uv.run().stdout == "ready\n"
    assert with_uv.asked() == [DEV, PROJECT]


def test_an_environment_of_a_moved_checkout_is_made_anew(with_uv: Checkout) -> None:
    with_uv.run()
    with_uv.asked()
    moved = Checkout(with_uv.root.rename(with_uv.root.parent / "moved"), with_uv.bin)
    assert "made in another folder" in moved.run().stderr
    assert moved.asked() == [MADE, DEV, PROJECT]


def test_an_environment_whose_python_is_gone_is_made_anew(with_uv: Checkout) -> None:
    with_uv.run()
    with_uv.asked()
    python = with_uv.root / ".venv" / "bin" / "python"
    python.unlink()
    python.symlink_to("/nowhere/python3")
    assert "does not run here" in with_uv.run().stderr
    assert with_uv.asked() == [MADE, DEV, PROJECT]


def test_a_name_that_is_no_suitable_python_is_passed_over(with_uv: Checkout) -> None:
    with_uv.program("python3.13", OLD_PYTHON)
    with_uv.program("python3.11", PYTHON)
    with_uv.run()
    assert with_uv.asked()[0] == MADE.replace("python3", "python3.11")


def test_a_chosen_python_that_is_unsuitable_is_refused(with_uv: Checkout) -> None:
    with_uv.program("ancient", OLD_PYTHON)
    done = with_uv.run(PYTHON=str(with_uv.bin / "ancient"))
    assert done.returncode == 1
    assert "ancient is not a Python of version 3.11 or newer" in done.stderr
    assert with_uv.asked() == []


def test_without_any_python_the_message_says_what_to_install(checkout: Checkout) -> None:
    done = checkout.run()
    assert done.returncode == 1
    assert "Turnkeeper needs Python 3.11 or newer" in done.stderr
    assert "apt-get install python3 python3-venv" in done.stderr
    assert not (checkout.root / ".venv").exists()


def test_without_the_venv_module_the_message_says_what_to_install(checkout: Checkout) -> None:
    checkout.program("python3", BARE_PYTHON)
    done = checkout.run()
    assert done.returncode == 1
    assert "apt-get install python3-venv" in done.stderr
    assert not (checkout.root / ".venv").exists()


def test_the_lock_of_a_script_that_died_is_taken_over(with_uv: Checkout) -> None:
    dead = subprocess.Popen(["true"])
    dead.wait()
    (with_uv.root / ".venv.lock").write_text(f"{dead.pid}\n")
    assert with_uv.run().stdout == "ready\n"
    assert not (with_uv.root / ".venv.lock").exists()
