"""How the encyclopedia is asked: named, patient, within limits, and nowhere else."""

from __future__ import annotations

import email.utils
from datetime import timedelta
from typing import Any

import httpx2
import pytest

from turnkeeper import research, testing
from turnkeeper.errors import ConfigurationError, ToolError
from turnkeeper.testing.services import Answer

pytestmark = pytest.mark.anyio
ADA: dict[str, str | int] = {"titles": "Ada Lovelace", "prop": "info", "redirects": 1}


async def failure(wiki: research.Wiki) -> str:
    with pytest.raises(ToolError) as caught:
        await wiki.query(**ADA)
    return caught.value.content


async def test_it_says_who_asks(wiki: Any, encyclopedia: testing.Encyclopedia) -> None:
    await wiki().query(**ADA)
    agent = encyclopedia.asked[0].headers["user-agent"]
    assert agent.startswith("turnkeeper/0")
    assert "(ops@shop.example) httpx2/" in agent
    assert "(no contact given)" in research.wiki.user_agent()
    for bad in ("a\r\nX-Evil: 1", "(nested)", "Ада@пример.рф", "a\x00b"):
        with pytest.raises(ConfigurationError, match="contact"):
            wiki_with(bad)


def wiki_with(contact: str) -> research.Wiki:
    return research.Wiki(contact=contact)


@pytest.mark.parametrize("site", ["wikipedia.org", "ftp://x/api.php", "https:///w/api.php", "https://me:pw@x/api.php"])
def test_an_address_that_is_none_is_refused(site: str) -> None:
    with pytest.raises(ConfigurationError, match="has an address such as"):
        research.Wiki(site=site)
    with pytest.raises(ConfigurationError, match="named by its code"):
        research.Wiki(language="English")


async def test_servers_that_lag_are_waited_for_as_long_as_they_say(
    wiki: Any, encyclopedia: testing.Encyclopedia
) -> None:
    encyclopedia.faults = [encyclopedia.busy(5), None]
    assert (await wiki().query(**ADA))["query"]["pages"][0]["title"] == "Ada Lovelace"
    assert wiki.clock.slept == (5.0,)
    assert {dict(one.query)["maxlag"] for one in encyclopedia.asked} == {"5"}


async def test_a_date_to_wait_for_is_understood(wiki: Any, encyclopedia: testing.Encyclopedia) -> None:
    until = email.utils.format_datetime(wiki.clock.now() + timedelta(seconds=7), usegmt=True)
    encyclopedia.faults = [Answer(status=429, body=b"slow down", headers={"Retry-After": until})]
    await wiki(now=wiki.clock.now).query(**ADA)
    assert wiki.clock.slept == (7.0,)


@pytest.mark.parametrize(
    ("faults", "said", "slept"),
    [
        ([Answer(status=429, headers={"Retry-After": "3600"})], "It asks to wait 3600 seconds", []),
        ([Answer(status=503)] * 3, "has trouble (status 503)", [0.5, 1.0]),
        ([httpx2.ConnectError("no route")] * 3, "can't be reached", [0.5, 1.0]),
        ([httpx2.ReadTimeout("slow")] * 3, "did not answer in time", [0.5, 1.0]),
        ([Answer(status=403, body=b"blocked")], "refused the request (status 403)", []),
        ([Answer(body=b"<html>captive portal</html>")], "can't be read", []),
        ([Answer(body=["not", "an", "object"])], "can't be read", []),
        ([Answer(body={"error": {"code": "readapidenied", "info": "secret detail"}})], "(readapidenied)", []),
        ([Answer(body={"error": {"code": "ratelimited", "info": "x"}})] * 3, "busy (ratelimited)", [0.5, 1.0]),
    ],
)
async def test_what_goes_wrong_becomes_words_for_the_model(
    wiki: Any, encyclopedia: testing.Encyclopedia, faults: list[Any], said: str, slept: list[float]
) -> None:
    encyclopedia.faults = list(faults)
    text = await failure(wiki())
    assert said in text
    assert "secret" not in text
    assert list(wiki.clock.slept) == slept
    assert len(encyclopedia.asked) == len(faults)


async def test_an_answer_that_is_too_large_is_not_read_whole(wiki: Any, encyclopedia: testing.Encyclopedia) -> None:
    encyclopedia.faults = [Answer(body=b" " * 200_001)]
    assert "larger than 200 kB" in await failure(wiki(most_bytes=200_000))


async def test_a_silent_server_is_left_after_the_time_out() -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as listener:  # accepts, and says nothing
        port = listener.getsockname()[1]
        wiki = research.Wiki(site=f"http://127.0.0.1:{port}/w/api.php", timeout=0.1, retries=0)
        assert "did not answer in time" in await failure(wiki)


@pytest.mark.parametrize(
    "location",
    [
        "http://169.254.169.254/latest/meta-data/",
        "https://evil.example/w/api.php",
        "https://en.wikipedia.org.evil.example/w/api.php",
        "https://en.wikipedia.org@evil.example/",
        "//evil.example/w/api.php",
        "http://en.wikipedia.org/w/api.php",
        "https://en.wikipedia.org:8443/w/api.php",
        "file:///etc/passwd",
        "https://de.wikipedia.org/w/api.php",
    ],
)
async def test_a_redirect_elsewhere_is_not_followed(
    wiki: Any, encyclopedia: testing.Encyclopedia, location: str
) -> None:
    encyclopedia.faults = [Answer(status=302, headers={"Location": location})]
    assert "another place, which is not allowed" in await failure(wiki())
    assert len(encyclopedia.asked) == 1


async def test_a_redirect_at_the_same_place_is_followed_a_few_times(
    wiki: Any, encyclopedia: testing.Encyclopedia
) -> None:
    same = "/w/api.php?action=query&format=json&formatversion=2&maxlag=5&titles=Rome"
    encyclopedia.faults = [Answer(status=301, headers={"Location": same})]
    assert (await wiki().query(**ADA))["query"]["pages"][0]["title"] == "Rome"
    encyclopedia.faults = [Answer(status=302, headers={"Location": same})] * 9
    assert "around in circles" in await failure(wiki())
    assert len(encyclopedia.faults) == 5


async def test_over_a_real_socket_the_same_is_said(encyclopedia: testing.Encyclopedia) -> None:
    with encyclopedia.listen() as url:
        wiki = research.Wiki(site=f"{url}/{{language}}/w/api.php")
        found = await research.find_article(wiki, "北京", "zh")
    assert found.article is not None
    assert found.article.text == "北京是中华人民共和国的首都。"
    assert encyclopedia.complaints == []
