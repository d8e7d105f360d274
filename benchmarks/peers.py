"""The Pythons of other libraries: a virtual environment each, made once and kept in the user's cache."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from collections.abc import Iterable
from pathlib import Path

from benchmarks.clients import ELSEWHERE

__all__ = ("pythons_for",)


def pythons_for(clients: Iterable[str]) -> dict[str, str]:
    """The Python of each of these clients that needs one of its own. SystemExit, naming the client, where pip fails."""
    return {name: str(_python(name)) for name in clients if name in ELSEWHERE}


def _python(name: str) -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "turnkeeper" / "bench" / f"{name}-{sys.version_info.major}.{sys.version_info.minor}"
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    complete = folder / "complete"
    packages = " ".join(ELSEWHERE[name])
    if not (complete.exists() and complete.read_text() == packages):
        print(f"Installing {packages} into {folder} ...", file=sys.stderr, flush=True)
        venv.create(folder, with_pip=True, clear=True)
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *ELSEWHERE[name]]
        if subprocess.run(pip, check=False).returncode:
            raise SystemExit(f"{name}: {packages} could not be installed (see above); leave it out with --clients")
        complete.write_text(packages)
    return python
