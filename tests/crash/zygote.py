"""Processes to kill, without paying for their imports each time.

`Zygote` starts one interpreter that has loaded everything, has held a conversation once, and forks for each job. Its
forks are real processes: they are killed with SIGKILL, share no file and no connection, and nothing of theirs runs on.
"""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from types import TracebackType
from typing import Any

__all__ = ("Zygote",)

PATIENCE = 60
"""Seconds after which a job that should have ended is taken for hanging."""
ROOT = Path(__file__).resolve().parents[2]


class Zygote:
    """The interpreter that forks; a context manager."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.crash.zygote"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        self._ready = False

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def run(self, job: str) -> int:
        """Run one job to its end; its exit code, negative if a signal ended it. The process is gone then."""
        if not self._ready and self._line() != "ready":  # not waited for before: several start beside each other
            raise RuntimeError("the process that forks did not start")
        self._ready = True
        assert self._process.stdin is not None
        self._process.stdin.write(job + "\n")
        self._process.stdin.flush()
        return int(self._line())

    def __enter__(self) -> Zygote:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._process:
            if not self._ready:
                self._process.kill()
            assert self._process.stdin is not None
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.close()


def _serve() -> None:
    from tests.crash.process import Job

    _warm_up()
    assert threading.active_count() == 1, "a process with threads must not fork"
    gc.freeze()
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    answers.write("ready\n")
    answers.flush()
    for line in iter(sys.stdin.readline, ""):
        pid = os.fork()
        if pid == 0:
            _be(Job.from_json(line))
        _, status = os.waitpid(pid, 0)
        answers.write(f"{os.waitstatus_to_exitcode(status)}\n")
        answers.flush()


def _warm_up() -> None:
    """Load what loads late: drivers, migrations, what the SDK brings in at its first request."""
    import psycopg

    from tests.crash.process import Job, run
    from tests.crash.scenario import Scenario, model_of
    from turnkeeper.testing import MessagesAPI

    del psycopg
    scenario = Scenario(name="warm", calls=())  # a tool would leave a thread behind
    with tempfile.TemporaryDirectory() as folder, MessagesAPI(model_of(scenario)).listen() as url:
        run(Job(journal=f"sqlite:///{folder}/j.db", api=url, folder=folder, scenario=scenario, acts=("user", "report")))


def _be(job: Any) -> None:
    from tests.crash.process import run

    code = 1
    try:
        errors = os.open(Path(job.folder) / "errors", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(errors, 2)
        faulthandler.dump_traceback_later(PATIENCE, exit=True)
        run(job)
        code = 0
    except BaseException:
        sys.excepthook(*sys.exc_info())
        sys.stderr.flush()
    finally:
        os._exit(code)


if __name__ == "__main__":
    _serve()
