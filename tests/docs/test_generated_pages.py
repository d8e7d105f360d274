"""The pages written from the code are up to date."""

from __future__ import annotations

import subprocess
import sys

from tests.docs.blocks import ROOT


def test_the_generated_pages_say_what_the_code_says() -> None:
    command = [sys.executable, str(ROOT / "script" / "generate_docs.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
