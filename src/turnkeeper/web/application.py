"""The ASGI application: the page, the JSON API, the event streams."""

from __future__ import annotations

import secrets as random
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import BaseRoute

from turnkeeper.driver.agent import Agent
from turnkeeper.driver.inbox import Inject
from turnkeeper.driver.keeper import Keeper
from turnkeeper.journal import Journal
from turnkeeper.web.answers import handlers
from turnkeeper.web.door import Customer, Door
from turnkeeper.web.guards import Guard
from turnkeeper.web.live import Filter
from turnkeeper.web.proving import Prover
from turnkeeper.web.proxies import Proxies
from turnkeeper.web.rates import Rates
from turnkeeper.web.routes import routes
from turnkeeper.web.service import Service
from turnkeeper.web.sessions import Sessions
from turnkeeper.web.staff import Staff

if TYPE_CHECKING:
    from turnkeeper import desk

__all__ = ("LOOPBACK", "app")

LOOPBACK = ("127.0.0.1", "localhost", "::1")


def app(  # noqa: PLR0913 - options by name, each with a default
    source: Agent | Keeper,
    *,
    journal: str | Journal = "memory:",
    secret: str | bytes | None = None,
    staff: Staff | None = None,
    customer: Customer | None = None,
    codes: desk.Door | None = None,
    hosts: Iterable[str] = LOOPBACK,
    proxies: Iterable[str] = (),
    inject: Inject | None = None,
    make_filter: Callable[[], Filter] | None = None,
    rates: Rates | None = None,
    title: str = "Turnkeeper",
    features: Mapping[str, Any] | None = None,
    metrics_token: str | None = None,
    drive: bool = True,
    more: Callable[[Door], Iterable[BaseRoute]] | None = None,
) -> Starlette:
    """The web door of an agent as an ASGI application with a lifespan; mount it, or serve it with any ASGI server.

    Args:
        source: An Agent, whose `journal` is opened while the application runs; or a Keeper that is open already.
        journal: URL or Journal, for an agent.
        secret: Signs the sessions, at least 16 bytes, the same in all processes of a service; without it one is drawn,
            and sessions end with the process.
        staff: Who may use the console; without it nobody.
        customer: Gives the principal of a request whose customer your application knows; where it gives None, and
            without it, customers are anonymous, each browser one of its own.
        codes: The desk's door (`turnkeeper.desk.Door`): customers prove who they are with one-time codes and confirm
            calls of their own beside the chat. It is the agent's `identity`, as `desk.customer_agent` makes it.
        hosts: Names under which the service is reached; requests for others are refused. `"*"` takes any: for an
            application mounted behind one that has checked.
        proxies: Addresses and networks of reverse proxies whose X-Forwarded-For and X-Forwarded-Proto are believed.
        inject: The tools' Injected parameters, by conversation and principal; without it, with `codes`, `client` is
            the address that the customer comes from.
        make_filter: Makes what chooses the customer's part of a reply, such as `turnkeeper.desk.ReplyFilter`.
        rates: Limits; see `Rates`.
        title: The service's name on its pages.
        features: Values that the pages are told of (`GET api/session`).
        metrics_token: Lets a program without a session read the metrics, as a bearer token.
        drive: False only follows and takes in; turns are run by workers elsewhere.
        more: Gives further routes, made with the door.

    Raises ConfigurationError for a secret that is too short.
    """
    agent = source if isinstance(source, Agent) else source.agent
    key = secret.encode() if isinstance(secret, str) else secret or random.token_bytes(32)
    limits = rates or Rates()
    door = Door(
        sessions=Sessions(key, agent.now),
        rates=limits,
        staff=staff or Staff(),
        clock=agent.now,
        customer=customer,
        title=title,
        features=features or {},
        metrics_token=metrics_token,
    )
    if codes is not None:
        door.prover = Prover(codes, door.sessions, agent.now)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            keeper = source
            if isinstance(keeper, Agent):
                keeper = await stack.enter_async_context(keeper.open(journal))
            given = inject or (door.prover.inject if door.prover is not None else None)
            service = Service(keeper, inject=given, make_filter=make_filter, drive=drive)
            group = await stack.enter_async_context(anyio.create_task_group())
            stack.callback(group.cancel_scope.cancel)
            started = anyio.Event()
            group.start_soon(service.run, started)
            await started.wait()
            door.service = service
            try:
                yield
            finally:
                door.service = None

    made = Starlette(
        routes=[*routes(), *(more(door) if more is not None else ())],
        middleware=[Middleware(Guard, hosts=tuple(hosts), rates=limits, clock=agent.now, proxies=Proxies(proxies))],
        exception_handlers=handlers,
        lifespan=lifespan,
    )
    made.router.redirect_slashes = False  # it would lead to whatever host a request names
    made.state.door = door
    return made
