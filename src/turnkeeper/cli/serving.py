"""The work of `serve`: TechNova Desk behind the web door."""

from __future__ import annotations

import contextlib
import functools
import hmac
import os
import secrets
from collections.abc import Sequence
from typing import Any

import anyio
import click
import uvicorn

from turnkeeper import desk as technova
from turnkeeper.cli.admitting import Mail, couriers, customers
from turnkeeper.cli.bringing import mcp_servers, tell_refused
from turnkeeper.cli.conversing import build_agent, this_person
from turnkeeper.cli.desk import limit_of, records_of
from turnkeeper.cli.exits import Exit
from turnkeeper.cli.interrupts import in_loop
from turnkeeper.cli.options import Talk
from turnkeeper.cli.places import web_secret
from turnkeeper.cli.problems import CommandError, told
from turnkeeper.cli.terminal import Terminal, prints_aside
from turnkeeper.errors import ConfigurationError
from turnkeeper.serving import Server, is_loopback, listen, url_of
from turnkeeper.web import Staff, app

__all__ = ("serve",)

_SECRET = "TURNKEEPER_WEB_SECRET"
_EVERYWHERE = ("0.0.0.0", "::", "")  # noqa: S104 - compared with, not listened on


def serve(  # noqa: PLR0913 - the command's options
    talk: Talk,
    *,
    host: str,
    port: int,
    database: str | None,
    demo: bool,
    approve_above: str | None,
    public: Sequence[str],
    proxy: Sequence[str],
    staff_file: str | None,
    staff_header: str | None,
    drive: bool,
) -> int:
    """Serve until somebody stops it."""
    if talk.journal is not None:
        raise click.UsageError("the desk keeps its conversations in its own database; leave --journal out")
    if demo and database is not None:
        raise click.UsageError("--demo makes a database of its own; leave --database out")
    settings: dict[str, Any] = {
        "staff": _staff(host, public, proxy, staff_file, staff_header),
        "hosts": _hosts(host, public),
        "proxies": proxy,
        "drive": drive,
        "title": "TechNova Desk",
        "make_filter": technova.ReplyFilter,
    }
    policy = limit_of(approve_above)
    secret = _secret(demo=demo)
    terminal = Terminal(color=not talk.no_color)

    async def work(records: technova.Desk, door: technova.Door) -> int:
        async with contextlib.AsyncExitStack() as stack:
            connecting = mcp_servers(talk)
            brought = await stack.enter_async_context(connecting) if connecting is not None else ()
            tell_refused(brought, terminal)
            build = functools.partial(customers, talk, records, door, **policy)
            agent, _ = build_agent(talk, terminal, build=build, practice=demo, brought=brought)
            keeper = await stack.enter_async_context(agent.open(records.journal_url))
            await _listen(app(keeper, codes=door, secret=secret, **settings), host, port, terminal)
        return Exit.DONE

    key = os.environ.get(technova.KEY_VARIABLE, "").encode() or hmac.digest(secret, b"turnkeeper.desk", "sha256")
    with records_of(database, demo=demo) as records, prints_aside(), told():
        carried = couriers(Mail(terminal), demo=demo)
        with technova.Door(records, carried, key=key, at_once="phone" in carried) as door:
            return in_loop(lambda: work(records, door))


def _staff(
    host: str, public: Sequence[str], proxies: Sequence[str], staff_file: str | None, staff_header: str | None
) -> Staff:
    """Who may use the console: whoever uses this machine, unless others can reach it."""
    if staff_header is not None and not proxies:
        raise click.UsageError("--staff-header is believed from a proxy only: name its address with --proxy")
    passwords = {} if staff_file is None else Staff.from_file(staff_file).passwords
    if passwords or staff_header is not None:
        return Staff(passwords=passwords, header=staff_header, proxies=proxies)
    if not is_loopback(host) or public or proxies:
        raise click.UsageError(
            "others than this machine's users can reach this service, so staff must sign in: give --staff-file (or"
            " --staff-header with --proxy), or listen on 127.0.0.1 without --public and --proxy"
        )
    return Staff.on_loopback(this_person())


def _hosts(host: str, public: Sequence[str]) -> tuple[str, ...]:
    if host in _EVERYWHERE and not public:
        raise click.UsageError(f"--host {host} is no name that the service is reached by: give that with --public")
    own = ("127.0.0.1", "localhost", "::1") if is_loopback(host) else () if host in _EVERYWHERE else (host,)
    return (*own, *public)


def _secret(*, demo: bool) -> bytes:
    """What signs the sessions: the environment's, else this user's own; for a demo, one that ends with it."""
    given = os.environ.get(_SECRET, "").encode()
    if given and len(given) < 16:
        raise ConfigurationError(f"{_SECRET} must be at least 16 bytes")
    return given or (secrets.token_bytes(32) if demo else web_secret())


async def _listen(service: Any, host: str, port: int, terminal: Terminal) -> None:
    try:
        listener = listen(host, port)
    except ConfigurationError as error:
        raise CommandError(f"{error}; --port chooses another port, 0 a free one") from error
    with listener:
        server = Server(
            uvicorn.Config(
                service,
                lifespan="on",
                ws="none",
                log_config=None,
                log_level="critical",
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_graceful_shutdown=3,
            ),
            started=lambda: terminal.answer(f"listening on {url_of(listener)}\n"),
        )
        with anyio.CancelScope(shield=True):  # signals are the server's to handle
            await server.serve(sockets=[listener])
        if not server.started:
            raise CommandError("the service could not start; the log tells why")
