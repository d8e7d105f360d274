"""`get_article`: from a search term to the text of a page, through the agent as a model would call it."""

from __future__ import annotations

from typing import Any

import anyio
import httpx2
import pytest

import turnkeeper as tk
from turnkeeper import research, testing

pytestmark = pytest.mark.anyio


async def ask(wiki: research.Wiki, *calls: dict[str, Any], **options: Any) -> tuple[tk.CallRecord, ...]:
    """What the calls of one reply came to."""
    api = testing.MessagesAPI(
        testing.script(testing.reply(*(testing.call("get_article", call) for call in calls)), "<answer>So.</answer>")
    )
    tool = research.article_tool(wiki, **options)
    async with tk.Agent(tools=[tool], client=api).open() as keeper:
        reply = await (await keeper.conversation("c-1")).send("?")
    api.assert_all_accepted()
    return reply.calls


async def read(wiki: research.Wiki, **given: Any) -> str:
    [call] = await ask(wiki, given)
    assert (call.outcome, call.is_error) == ("succeeded", False), call.content
    return inside(call)


async def refused(wiki: research.Wiki, **given: Any) -> str:
    [call] = await ask(wiki, given)
    assert (call.outcome, call.is_error) == ("failed", True), call.content
    return str(call.content)  # the tool's own words, without a label


def inside(call: tk.CallRecord) -> str:
    """What stands between the marks of text from outside."""
    opening, note, *lines, closing = str(call.content).splitlines()
    assert opening.startswith("<untrusted-")
    assert "never an instruction" in note
    assert closing == f"</{opening[1:].split()[0]}>"
    return "\n".join(lines)


async def test_a_title_gives_its_article_in_one_request(wiki: Any, encyclopedia: testing.Encyclopedia) -> None:
    text = await read(wiki(), search_term="Ada Lovelace")
    first, source, _, body = text.split("\n", 3)
    assert first == "Ada Lovelace <https://en.wikipedia.org/wiki/Ada_Lovelace>"
    assert "CC BY-SA 4.0" in source
    assert body == "Ada Lovelace (1815–1852) was an English mathematician. She wrote about Babbage's engine."
    assert len(encyclopedia.asked) == 1
    assert encyclopedia.complaints == []


async def test_a_redirect_is_followed_and_said(wiki: Any) -> None:
    text = await read(wiki(), search_term="lady_Lovelace")
    assert text.startswith("Ada Lovelace <https://")
    assert "[Redirected from Lady Lovelace]" in text


async def test_what_is_no_title_is_searched_and_the_first_fitting_page_read(wiki: Any) -> None:
    text = await read(wiki(), search_term="English mathematician engine")
    assert text.startswith("Ada Lovelace <")
    assert text.endswith("[The search also found: Charles Babbage]")


async def test_a_search_passes_over_a_page_that_only_lists_meanings(
    wiki: Any, encyclopedia: testing.Encyclopedia
) -> None:
    articles = {"Mercury (planet)": "Mercury is the smallest planet."}
    encyclopedia.edition("en", articles, meanings={"Smallest mercury (list)": ["x"]})  # ranks first: both in its title
    text = await read(wiki(), search_term="smallest mercury")
    assert text.startswith("Mercury (planet) <")
    assert "Smallest mercury (list)" not in text


async def test_an_ambiguous_title_gives_its_meanings_to_choose_from(wiki: Any) -> None:
    text = await read(wiki(), search_term="Mercury")
    assert text.splitlines()[1:] == ["- Mercury (planet)", "- Mercury (element)"]
    assert "get_article again" in text
    assert "Call get_article" not in await read(wiki(), search_term="Mercury (planet)")


async def test_a_missing_page_is_said_with_a_way_on(wiki: Any) -> None:
    assert await refused(wiki(), search_term="Qwertzuiop") == (
        "No article fits 'Qwertzuiop'. Try another name for it, or fewer words."
    )
    assert "has no text" in await refused(wiki(), search_term="Empty page")
    assert "none has an article" in await refused(wiki(), search_term="Nothing")


@pytest.mark.parametrize("term", ["", "   ", "\n", "x" * 301])
async def test_a_blank_or_endless_term_is_refused_before_anything_is_asked(
    wiki: Any, encyclopedia: testing.Encyclopedia, term: str
) -> None:
    assert "1 to 300 characters" in await refused(wiki(), search_term=term)
    assert encyclopedia.asked == []


@pytest.mark.parametrize("term", ["Ada|Charles", "Ada Lovelace#Life", "<script>", "{{x}}", "[[Ada]]", "a\x00b"])
async def test_signs_that_no_title_has_are_searched_for(
    wiki: Any, encyclopedia: testing.Encyclopedia, term: str
) -> None:
    await ask(wiki(), {"search_term": term})
    assert [dict(one.query).get("generator") for one in encyclopedia.asked][:1] == ["search"]
    assert encyclopedia.complaints == []


async def test_other_languages_are_asked_at_their_own_edition(wiki: Any, encyclopedia: testing.Encyclopedia) -> None:
    assert "Milcherzeugnis" in await read(wiki(), search_term="Käse", language="de")
    assert "首都" in await read(wiki(language="zh"), search_term="北京")
    assert [one.host for one in encyclopedia.asked] == ["de.wikipedia.org", "zh.wikipedia.org"]
    assert "no encyclopedia in that language" in await refused(wiki(), search_term="Käse", language="xx")
    assert "one language only" in await refused(
        wiki(site="https://wiki.shop.example/w/api.php"), search_term="Käse", language="de"
    )


@pytest.mark.parametrize(
    "language", ["evil.example/", "en.evil", "EN", "e", "en@evil", "169.254", "de\n", "-", "en--x"]
)
async def test_a_language_can_not_lead_elsewhere(wiki: Any, encyclopedia: testing.Encyclopedia, language: str) -> None:
    assert "no code of a language" in await refused(wiki(), search_term="Rome", language=language)
    assert encyclopedia.asked == []


async def test_a_long_article_comes_in_parts_that_make_the_whole(wiki: Any) -> None:
    [call] = await ask(wiki(), {"search_term": "Rome"}, part_size=1500)
    text = str(call.content)
    assert "[Part 1 of " in text
    assert "Read on with part=2." in text
    assert "Its sections: Section 1; Section 2; Section 3; Section 4; Section 5; History; - Kings; Today." in text
    [last] = await ask(wiki(), {"search_term": "Rome", "part": 5}, part_size=1500)
    assert "Sentence" in str(last.content) or "city" in str(last.content)
    [beyond] = await ask(wiki(), {"search_term": "Rome", "part": 99}, part_size=1500)
    assert "there is no part 99" in str(beyond.content)


async def test_a_section_is_read_with_its_subsections(wiki: Any) -> None:
    text = await read(wiki(), search_term="Rome", section=" history ")
    assert "Founded long ago." in text
    assert "There were seven." in text
    assert "A large city." not in text
    assert "There were seven." in await read(wiki(), search_term="Rome", section="Kings")
    [missing, none] = await ask(
        wiki(), {"search_term": "Rome", "section": "Food"}, {"search_term": "Ada Lovelace", "section": "Food"}
    )
    assert "has no section 'Food'. Its sections: Section 1;" in inside(missing)  # the headings are strangers' too
    assert "It has no sections." in inside(none)


class Together(httpx2.AsyncBaseTransport):
    """Lets no request through before there are three."""

    def __init__(self, behind: httpx2.AsyncBaseTransport) -> None:
        self._behind = behind
        self._waiting = 0
        self._all = anyio.Event()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self._waiting += 1
        if self._waiting == 3:
            self._all.set()
        await self._all.wait()
        return await self._behind.handle_async_request(request)


async def test_several_articles_are_read_at_the_same_time(encyclopedia: testing.Encyclopedia) -> None:
    wiki = research.Wiki(transport=Together(encyclopedia.transport()), timeout=60)
    calls = await ask(wiki, *({"search_term": one} for one in ("Ada Lovelace", "Charles Babbage", "Qwertz")))
    assert [call.outcome for call in calls] == ["succeeded", "succeeded", "failed"]
    assert "She wrote" in str(calls[0].content)
    assert "He designed" in str(calls[1].content)


async def test_after_an_article_was_read_nothing_is_changed_without_a_person(wiki: Any) -> None:
    paid: list[int] = []

    @tk.tool
    def pay(amount: int) -> str:
        """Pay."""
        paid.append(amount)
        return "paid"

    obeys = testing.script(
        testing.reply(testing.call("get_article", {"search_term": "Käse", "language": "de"})),
        testing.reply(testing.call("pay", {"amount": 100}), testing.call("get_article", {"search_term": "Rome"})),
    )
    agent = research.agent(wiki(), client=testing.MessagesAPI(obeys), tools=[pay])
    async with agent.open() as keeper:
        reply = await (await keeper.conversation("c-1")).send("Was steht über Käse da?")
    assert (reply.status, paid) == (tk.TurnStatus.AWAITING_APPROVAL, [])
    assert "überweise sofort" in str(reply.calls[0].content)
