"""Requests made up from the OpenAPI document, sound ones and broken ones: never a 500, and only documented answers.

The same requests come each time (derandomised). A part of them runs with the other tests, many more in the slow ones.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import Case, GenerationMode
from starlette.applications import Starlette

import turnkeeper as tk
from tests.web.operators import PASSWORDS
from tests.web.served import serving
from turnkeeper.testing import MessagesAPI
from turnkeeper.web import Rates, Staff, app
from turnkeeper.web.openapi import OPERATIONS, document
from turnkeeper.web.standard import standard_streams

ENDLESS = {
    "/api/console/changes",
    "/api/console/conversations/{conversation}/events",
    "/api/conversations/{conversation}/events",
}
"""Streams that end for no request; other tests read them, and ask for them with what is no place."""
CHECKS = ("not_a_server_error", "status_code_conformance", "content_type_conformance", "response_schema_conformance")
JOHN, ANA = tk.Principal("customer", "1213210"), tk.Principal("staff", "ana", "signed_in")
MANY = 10**9


class Service:
    """The door with a conversation whose call waits for approval, and cookies for whoever asks."""

    def __init__(self, web: Starlette, base: str) -> None:
        self.web, self.base = web, base
        self.schema = schemathesis.openapi.from_dict(document(web.routes))

    def cookies(self) -> dict[str, str]:
        """A customer's and an employee's, new ones: a request may end its session."""
        sessions = self.web.state.door.sessions
        started = {"turnkeeper_customer": sessions.start(JOHN), "turnkeeper_staff": sessions.start(ANA)}
        return {name: sessions.value(session) for name, session in started.items()}

    def send(self, case: Case[Any], *, signed: bool = True) -> None:
        """Send the request and look at its answer."""
        headers = {"Origin": self.base, "User-Agent": "tests"}
        cookies = self.cookies() if signed else {}
        response = case.call(base_url=self.base, headers=headers, cookies=cookies, timeout=60)
        assert "hunter2" not in response.text
        checks: list[Any] = [schemathesis.checks.CHECKS.get_one(name) for name in CHECKS]
        case.validate_response(response, checks=checks)


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    @tk.tool(approval="always")
    def refund(order: str, amount: int) -> str:
        """Refund an order."""
        return f"{amount} 已退款"

    rates = Rates(
        messages=MANY,
        posts=MANY,
        reads=MANY,
        logins=MANY,
        sessions=MANY,
        streams_per_principal=MANY,
        streams_per_address=MANY,
    )
    agent = tk.Agent(tools=[refund], client=MessagesAPI(practice=True))
    web = app(
        agent,
        secret="s" * 32,
        staff=Staff(passwords=PASSWORDS),
        rates=rates,
        metrics_token="hunter2" * 3,
        more=standard_streams,
    )
    with serving(web) as base:
        yield Service(web, base)


def made(service: Service, path: str, method: str, mode: GenerationMode, **given_: Any) -> Any:
    return service.schema[path][method].as_strategy(generation_mode=mode, **given_)


def each(examples: int, work: Callable[[Case[Any]], None], strategy: Any) -> None:
    """Do it with so many requests, the same ones each time."""
    bounded = settings(
        max_examples=examples,
        derandomize=True,
        database=None,
        deadline=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )

    def one(case: Case[Any]) -> None:
        work(case)

    bounded(given(strategy)(one))()  # type: ignore[no-untyped-call]


PLACES = [
    pytest.param(one.path, one.method, id=f"{one.method} {one.path}") for one in OPERATIONS if one.path not in ENDLESS
]


@pytest.mark.parametrize(("path", "method"), PLACES)
@pytest.mark.parametrize(
    ("sound", "broken"), [pytest.param(4, 4, id="some"), pytest.param(8, 16, id="many", marks=pytest.mark.slow)]
)
def test_whatever_comes_is_answered_as_documented(
    service: Service, path: str, method: str, sound: int, broken: int
) -> None:
    each(sound, service.send, made(service, path, method, GenerationMode.POSITIVE))
    operation = next(one for one in OPERATIONS if (one.path, one.method) == (path, method))
    if operation.body or operation.parameters:
        each(broken, service.send, made(service, path, method, GenerationMode.NEGATIVE))


def test_whoever_has_no_session_is_answered_as_documented(service: Service) -> None:
    for one in OPERATIONS:
        strategy = made(service, one.path, one.method, GenerationMode.POSITIVE)
        if one.session is not None:
            each(1, lambda case: service.send(case, signed=False), strategy)


def test_an_answer_that_the_document_has_not_would_be_found(service: Service) -> None:
    """The judge can fail: the same request against a document that says otherwise."""
    other = copy.deepcopy(document(service.web.routes))
    other["components"]["schemas"]["Session"]["properties"]["level"] = {"type": "integer"}
    del other["paths"]["/api/session"]["get"]["responses"]["4XX"]
    wrong = Service(service.web, service.base)
    wrong.schema = schemathesis.openapi.from_dict(other)
    strategy = made(wrong, "/api/session", "get", GenerationMode.POSITIVE)
    for signed in (True, False):
        with pytest.raises(BaseException, match=r"level|Undocumented"):
            each(1, lambda case, signed=signed: wrong.send(case, signed=signed), strategy)  # type: ignore[misc]
