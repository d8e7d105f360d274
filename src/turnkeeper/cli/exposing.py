"""The work of `mcp`: tools for MCP clients, and definitions of servers' tools accepted."""

from __future__ import annotations

import contextlib
import difflib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
import click
import uvicorn

from turnkeeper.cli.conversing import this_person
from turnkeeper.cli.escapes import clean
from turnkeeper.cli.exits import Exit
from turnkeeper.cli.interrupts import during, in_loop
from turnkeeper.cli.places import desk_url, journal_url
from turnkeeper.cli.problems import CommandError, told
from turnkeeper.cli.terminal import Terminal, prints_aside
from turnkeeper.cli.toolbox import load_tools
from turnkeeper.errors import ConfigurationError
from turnkeeper.mcp import Authorization, Pins, http_app, serve_stdio
from turnkeeper.mcp.servers import pins_beside
from turnkeeper.mcp.serving import PATH
from turnkeeper.serving import Server, is_loopback, listen, url_of
from turnkeeper.tools import Tool
from turnkeeper.types import Principal

__all__ = ("changes", "desk_tools", "expose")

_WITH_A_CODE = ("send_code", "update_my_contact")


def expose(  # noqa: PLR0913 - the command's options
    *,
    tools: Sequence[str],
    desk: bool,
    role: str | None,
    database: str | None,
    journal: str | None,
    four_eyes: bool,
    approve_above: str | None,
    http: bool,
    host: str,
    port: int,
    issuer: str | None,
    resource: str | None,
    keys: str | None,
    scope: Sequence[str],
    staff_scope: str | None,
    allow_host: Sequence[str],
    allow_origin: Sequence[str],
) -> int:
    """Serve until the client leaves, or somebody stops it."""
    authorization = _authorization(issuer, resource, keys, scope, staff_scope)
    _check_door(http=http, host=host, role=role, authorized=authorization is not None)
    if desk == bool(tools):
        raise click.UsageError("give the tools to serve, -T MODULE, or --desk; one of the two")
    if desk and role is None and authorization is None:
        raise click.UsageError(
            "the desk serves nobody whom it doesn't know: over stdio say --as staff, over HTTP whose tokens are good,"
            " with --issuer"
        )
    if desk and journal is not None:
        raise click.UsageError("the desk keeps its calls in its own database; leave --journal out")
    terminal = Terminal(color=False)
    principal = Principal("staff", this_person()) if role == "staff" else None
    with contextlib.ExitStack() as stack:
        with prints_aside():  # what a module prints while it loads is no message
            if desk:
                offered, options = desk_tools(stack, database, four_eyes=four_eyes, approve_above=approve_above)
            else:
                offered, options = load_tools(tools), {"journal": journal_url(journal)}
        stack.enter_context(told())

        async def work() -> int:
            if not http:
                # A thread waits for stdin and can't be called off; what was done is in the journal.
                with during(lambda: os._exit(Exit.INTERRUPTED)):
                    await serve_stdio(offered, principal=principal, **options)
                return Exit.DONE
            async with http_app(
                offered, authorization=authorization, hosts=allow_host, origins=allow_origin, **options
            ) as app:
                await _listen(app, host, port, terminal)
            return Exit.DONE

        return in_loop(work)


def _check_door(*, http: bool, host: str, role: str | None, authorized: bool) -> None:
    if not http and authorized:
        raise click.UsageError("tokens come over HTTP: give --http as well, or leave --issuer out")
    if http and role is not None:
        raise click.UsageError(
            "--as is for stdio, where whoever starts the command is served; over HTTP the token says who it is:"
            " --staff-scope names the scope that staff have"
        )
    if http and not authorized and not is_loopback(host):
        raise click.UsageError(
            f"--host {host} can be reached from other machines: say whose tokens are good with --issuer, --resource and"
            " --keys, or listen on 127.0.0.1"
        )


def _authorization(
    issuer: str | None, resource: str | None, keys: str | None, scope: Sequence[str], staff_scope: str | None
) -> Authorization | None:
    if issuer is None and resource is None and keys is None:
        if scope or staff_scope is not None:
            raise click.UsageError("--scope and --staff-scope are of tokens: give --issuer, --resource and --keys")
        return None
    if issuer is None or resource is None or keys is None:
        raise click.UsageError("--issuer, --resource and --keys go together")
    return Authorization(issuer=issuer, resource=resource, keys=keys, scopes=tuple(scope), staff_scope=staff_scope)


def desk_tools(
    stack: contextlib.ExitStack, database: str | None, *, four_eyes: bool, approve_above: str | None
) -> tuple[Sequence[Any], dict[str, Any]]:
    """The desk's tools, staff's and customers', and how they are served: who sees which, and where calls are kept."""
    from turnkeeper import desk as technova  # noqa: PLC0415 - the desk, only where it is served
    from turnkeeper.cli.desk import policy_of  # noqa: PLC0415 - loads the desk, too

    policy = policy_of(four_eyes, approve_above)
    url = desk_url(database)
    if "://" not in url:
        raise click.UsageError("--database is a URL: sqlite:///FILE or postgresql://USER@HOST/NAME")
    records = stack.enter_context(technova.open_database(url))
    staffs = technova.tools(records, **policy)
    above = {name: value for name, value in policy.items() if name == "approve_above"}
    door = stack.enter_context(technova.Door(records, {}))
    # Whoever has a token has signed in; what is confirmed with a code needs the desk's own door.
    customers = [one for one in technova.customer_tools(records, door, **above) if one.name not in _WITH_A_CODE]
    names = {tool.name for tool in staffs}

    def offer(who: Principal | None, tool: Tool[..., Any]) -> bool:
        kind = None if who is None else who.kind
        return kind == ("staff" if tool.name in names else "customer")

    return [*staffs, *customers], {"journal": records.journal_url, "name": "technova-desk", "offer": offer}


async def _listen(app: Any, host: str, port: int, terminal: Terminal) -> None:
    try:
        listener = listen(host, port)
    except ConfigurationError as error:
        raise CommandError(str(error)) from error
    with listener:
        terminal.answer(f"listening on {url_of(listener)}{PATH}\n")
        server = Server(
            uvicorn.Config(
                app,
                lifespan="off",
                ws="none",
                log_config=None,
                log_level="warning",
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_graceful_shutdown=3,
            )
        )
        with anyio.CancelScope(shield=True):  # signals are the server's to handle
            await server.serve(sockets=[listener])


def changes(file: str, only: Sequence[str], *, accept: bool) -> int:
    """Show what waits to be accepted in a file of pins, or take it as accepted; `only` narrows it."""
    path = pins_beside(file)
    if not (Path(file).is_file() or Path(path).is_file()):
        raise CommandError(f"there is no file {file}", exit_code=Exit.USAGE)
    pins = Pins(path)
    waiting = {f"{server}/{tool}": (server, tool) for server, tool in pins.changed()}
    unknown = [name for name in only if name not in waiting]
    if unknown:
        raise CommandError(f"{path}: no changed definition of {unknown[0]} waits to be accepted", exit_code=Exit.USAGE)
    terminal = Terminal(color=False)
    if not waiting:
        terminal.note(f"turnkeeper: nothing waits in {path}")
    for name, key in waiting.items():
        if not only or name in only:
            before, after = (
                json.dumps(one, ensure_ascii=False, indent=2, sort_keys=True).splitlines()
                for one in pins.changed()[key]
            )
            lines = difflib.unified_diff(before, after, "accepted before", "accepted now", lineterm="", n=1)
            terminal.answer(clean("\n".join([f"{name}", *lines])) + "\n")
            if accept:
                pins.accept(*key)
    pins.save()
    return Exit.DONE
