"""The imitations of Wikipedia and Twilio are strict: what the services would refuse or ignore is seen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import httpx2
import pytest

from turnkeeper.testing import Encyclopedia, TwilioAPI
from turnkeeper.testing.services import Answer

pytestmark = pytest.mark.anyio
AGENT = {"User-Agent": "tests/1 (ops@shop.example)"}
ASKED = {"action": "query", "format": "json", "formatversion": "2", "maxlag": "5"}


def shelf() -> Encyclopedia:
    return Encyclopedia({"Rome": "Rome is a city."}, redirects={"Roma": "Rome"}, meanings={"Romes": ["Rome"]})


async def ask(service: Encyclopedia, given: Mapping[str, str], headers: Mapping[str, str] = AGENT) -> httpx2.Response:
    async with httpx2.AsyncClient(transport=service.transport(), headers=headers) as client:
        return await client.get("https://en.wikipedia.org/w/api.php", params={**ASKED, **given})


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"titles": "Rome", "colour": "red"}, "unrecognized parameters: colour"),
        ({"titles": "Rome", "maxlag": ""}, "no maxlag"),
        ({"titles": "Rome", "formatversion": "1"}, "badvalue"),
        ({"titles": "Rome|Romes", "prop": "extracts"}, "one page at a time"),
    ],
)
async def test_wikipedia_says_what_it_would_pass_over(given: dict[str, str], complaint: str) -> None:
    service = shelf()
    await ask(service, given)
    assert [complaint in one for one in service.complaints] == [True]


async def test_wikipedia_answers_as_the_api_does() -> None:
    service = shelf()
    assert (await ask(service, {"titles": "Rome"}, {"User-Agent": "python-httpx2"})).status_code == 403
    service.complaints.clear()
    moved = (await ask(service, {"titles": "roma", "redirects": "1", "prop": "info", "inprop": "url"})).json()["query"]
    assert moved["normalized"] == [{"fromencoded": False, "from": "roma", "to": "Roma"}]
    assert moved["redirects"] == [{"from": "Roma", "to": "Rome"}]
    assert moved["pages"][0]["canonicalurl"] == "https://en.wikipedia.org/wiki/Rome"
    assert (await ask(service, {"titles": "Nowhere"})).json()["query"]["pages"] == [
        {"ns": 0, "title": "Nowhere", "missing": True}
    ]
    assert (await ask(service, {"titles": "<b>"})).json()["query"]["pages"][0]["invalid"] is True
    assert (await ask(service, {"generator": "search", "gsrsearch": "zzz"})).json() == {"batchcomplete": True}
    listed = (await ask(service, {"titles": "Romes", "prop": "pageprops|links"})).json()["query"]["pages"][0]
    assert (listed["pageprops"], listed["links"]) == ({"disambiguation": ""}, [{"ns": 0, "title": "Rome"}])
    assert service.complaints == []


@pytest.mark.parametrize(
    ("form", "code"),
    [
        ({"To": "0151", "From": "+15005550006", "Body": "x"}, 21211),
        ({"To": "+4915112345678", "Body": "x"}, 21603),
        ({"To": "+4915112345678", "From": "+15005550006", "Body": ""}, 21602),
        ({"To": "+4915112345678", "From": "+15005550006", "Body": "x" * 1601}, 21617),
        ({"To": "+4915100000000", "From": "+15005550006", "Body": "x"}, 21610),
    ],
)
async def test_twilio_refuses_with_its_own_numbers(form: dict[str, str], code: int) -> None:
    service = TwilioAPI()
    service.opted_out.add("+4915100000000")
    where = f"https://api.twilio.com/2010-04-01/Accounts/{service.account_sid}/Messages.json"
    async with httpx2.AsyncClient(transport=service.transport()) as client:
        refused = await client.post(where, data=form, auth=(service.account_sid, service.auth_token))
        assert (refused.status_code, refused.json()["code"], service.messages) == (400, code, [])
        stranger = await client.post(where, data=form, auth=(service.account_sid, "guessed"))
        assert (stranger.status_code, stranger.json()["code"]) == (401, 20003)
        nowhere = await client.get("https://api.twilio.com/2010-04-01/Accounts.json")
        assert nowhere.status_code == 404


async def test_faults_come_before_the_work_or_after_it_also_over_a_socket() -> None:
    service = TwilioAPI()
    form: dict[str, Any] = {"To": "+4915112345678", "From": "+15005550006", "Body": "x"}
    path = f"/2010-04-01/Accounts/{service.account_sid}/Messages.json"
    with service.listen() as url:
        async with httpx2.AsyncClient(base_url=url, auth=(service.account_sid, service.auth_token)) as client:
            service.faults = [Answer(status=503, body=b"down"), httpx2.ConnectError("gone"), None]
            assert (await client.post(path, data=form)).content == b"down"
            with pytest.raises(httpx2.TransportError):
                await client.post(path, data=form)
            assert service.messages == []
            service.after = [Answer(status=500)]
            assert (await client.post(path, data=form)).status_code == 500
            assert len(service.messages) == 1
            assert (await client.post(path, data=form)).json()["sid"] == "SM" + "2".zfill(32)
