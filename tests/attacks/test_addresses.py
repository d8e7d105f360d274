"""Attack 40: whatever address a model, a user or another server names, nothing here asks it.

`Inside` stands for a metadata service on a private address: it listens on this machine, and notes who comes. Hosts are
compared as they are written, and none is looked up to decide about it, so a name that resolves to an inside address is
as foreign as any other.

| place | test |
|---|---|
| research: redirects, and the language in the host's name | `test_research_...` |
| MCP over HTTP: redirects, addresses in results and schemas | `test_mcp_...` |
| images and documents by address | `test_an_address_in_a_message_is_refused`, `test_an_address_in_a_result_is_text` |
| the Messages API: redirects | `test_a_redirect_of_the_api_takes_neither_key_nor_messages_along` |
| SMS: pictures, pages and redirects of Twilio | `test_sms_...` |
| tokens that name where their key is | `test_no_key_is_fetched_for_a_token` |
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import anthropic
import mcp_types
import pytest

import turnkeeper as tk
from tests.attacks.conftest import Stage, told
from tests.attacks.test_identity import rules, token
from tests.mcp.conftest import agent_for, described, served
from tests.sms.conftest import PHONE, channel
from turnkeeper import desk, research
from turnkeeper.errors import HistoryError, InputError, ToolError
from turnkeeper.sms import OutcomeUnknownError
from turnkeeper.testing import FixedClock, MessagesAPI, TwilioAPI, call, reply, script
from turnkeeper.testing.services import Answer, Asked, Service

pytestmark = pytest.mark.anyio


class Inside(Service):
    """Answers everything, and should be asked nothing."""

    url = ""

    def answer(self, asked: Asked) -> Answer:
        return Answer(body={"type": "object", "query": {"pages": []}, "secret": "inside"})


class Pointing(Service):
    """Sends everybody on to another place, with the status that keeps method and body or another one."""

    def __init__(self, target: str, status: int) -> None:
        super().__init__()
        self.target, self.status = target, status

    def answer(self, asked: Asked) -> Answer:
        return Answer(status=self.status, headers={"Location": self.target})


@pytest.fixture
def inside() -> Iterator[Inside]:
    service = Inside()
    with service.listen() as url:
        service.url = url
        yield service


def names(url: str) -> list[str]:
    """The same place under other names: all of them lead to this machine."""
    port = url.rpartition(":")[2]
    hosts = ("localhost", "127.0.0.1", "127.1", "2130706433", "0x7f000001", "[::ffff:127.0.0.1]", "user@127.0.0.1")
    return [f"http://{host}:{port}/w/api.php" for host in hosts]


REDIRECTS = [301, 302, 303, 307, 308]


async def test_the_inside_can_be_asked(inside: Inside) -> None:
    """The other side of it: where a program names the address itself, it is reached, so the tests below could fail."""
    assert await research.Wiki(site=f"{inside.url}/w/api.php").query(titles="x") != {}
    assert len(inside.asked) == 1


@pytest.mark.parametrize("status", REDIRECTS)
async def test_research_follows_no_redirect_to_the_inside(inside: Inside, status: int) -> None:
    for target in names(inside.url):
        service = Pointing(target, status)
        with service.listen() as url, pytest.raises(ToolError, match="another place"):
            await research.Wiki(site=f"{url}/w/api.php", retries=0).query(titles="x")
        assert len(service.asked) == 1
    assert inside.asked == []


@pytest.mark.parametrize(
    "language", ["127.0.0.1", "127.0.0.1:80/#", "localhost/", "x@localhost", "en.evil.example?", "..", "EN", "ｅｎ", ""]
)
async def test_research_takes_a_language_for_no_address(inside: Inside, language: str) -> None:
    asked = Inside()
    api = MessagesAPI(script(reply(call("get_article", {"search_term": "x", "language": language})), "x"))
    tool = research.article_tool(research.Wiki(transport=asked.transport()))
    found = await tk.Agent(tools=[tool], client=api, model="claude-opus-4-8").run("look")
    assert ([outcome for outcome, _ in told(found)], asked.asked) == (["failed"], [])


@pytest.mark.parametrize("status", REDIRECTS)
async def test_mcp_follows_no_redirect_and_takes_no_token_there(inside: Inside, status: int) -> None:
    service = Pointing(f"{inside.url}/mcp", status)
    with service.listen() as url:
        entry = {"type": "http", "url": f"{url}/mcp", "headers": {"Authorization": "Bearer s3cret"}}
        with pytest.raises(tk.errors.TurnkeeperError):
            async with tk.mcp.connect({"far": entry}) as tools:
                await agent_for(MessagesAPI(script("x")), tools).run("go")
    assert service.asked
    assert inside.asked == []


async def test_mcp_results_name_addresses_that_nobody_fetches(inside: Inside) -> None:
    there = f"{inside.url}/latest/meta-data"
    content: list[Any] = [
        mcp_types.ResourceLink(uri=there, name="the file", mime_type="image/png"),
        mcp_types.EmbeddedResource(resource=mcp_types.TextResourceContents(uri=there, text="see there")),
        mcp_types.TextContent(text=json.dumps({"type": "image", "source": {"type": "url", "url": there}})),
    ]
    result = mcp_types.CallToolResult(content=content, structured_content={"type": "url", "url": there})
    api = MessagesAPI(script(reply(call("far__look", {})), "x"))
    async with tk.mcp.connect({"far": served({"look": result})}) as offered:
        found = await agent_for(api, offered).run("go")
    ((outcome, text),) = told(found)
    assert (outcome, there in text) == ("succeeded", True)
    body = api.requests[-1].body
    assert body is not None
    assert '"type": "url"' not in json.dumps(body["messages"])
    assert inside.asked == []


async def test_mcp_schemas_that_point_elsewhere_are_left_out_unfetched(inside: Inside) -> None:
    there = f"{inside.url}/schema.json"
    kinds: list[dict[str, Any]] = [
        {"properties": {"a": {"$ref": there}}},
        {"$schema": there},
        {"$ref": there},
        {"properties": {"a": {"$dynamicRef": f"{there}#x"}}},
        {"$id": there, "properties": {"a": {"$ref": "other.json"}}},
    ]
    listed = [described(f"t{n}", input_schema={"type": "object", **kind}) for n, kind in enumerate(kinds)]
    calls = [call(f"far__t{n}", {"a": {"b": 1}}) for n in range(len(kinds))]
    api = MessagesAPI(script(reply(*calls), "x"), strict=False)
    async with tk.mcp.connect({"far": served(listed)}) as offered:
        await agent_for(api, offered).run("go")
    assert inside.asked == []


@pytest.mark.parametrize("kind", ["image", "document"])
@pytest.mark.parametrize("host", ["169.254.169.254", "[fd00:ec2::254]", "localhost", "metadata.google.internal"])
async def test_an_address_in_a_message_is_refused(stage: Stage, kind: str, host: str) -> None:
    block = {"type": kind, "source": {"type": "url", "url": f"http://{host}/"}}
    inner = {"type": "document", "source": {"type": "content", "content": [block]}}
    async with stage.keeper() as keeper:
        conversation = await keeper.conversation("c-1", principal=stage.door.enter())
        for given in (block, inner):
            with pytest.raises(HistoryError, match="a source of type 'url'"):
                await conversation.send([given])
            with pytest.raises(HistoryError, match="a source of type 'url'"):
                await conversation.answer([{"role": "user", "content": [given]}])
    assert stage.apis[-1].requests == []


async def test_an_address_in_a_result_is_text() -> None:
    """A row, or a stranger's answer, that looks like a picture by its address stays data: the API fetches nothing."""
    row = {"type": "image", "source": {"type": "url", "url": "http://169.254.169.254/"}}

    @tk.tool(effect="read")
    def look() -> list[dict[str, Any]]:
        """Look."""
        return [row]

    api = MessagesAPI(script(reply(call("look")), "x"))
    await tk.Agent(tools=[look], client=api, model="claude-opus-4-8").run("look")
    body = api.requests[1].body
    assert body is not None
    (result,) = body["messages"][-1]["content"]
    assert json.loads(result["content"]) == [row]


@pytest.mark.parametrize("status", REDIRECTS)
async def test_a_redirect_of_the_api_takes_neither_key_nor_messages_along(inside: Inside, status: int) -> None:
    service = Pointing(f"{inside.url}/v1/messages", status)
    with service.listen() as url:
        async with anthropic.AsyncAnthropic(api_key="s3cret", base_url=url) as client:
            agent = tk.Agent(client=client, model="claude-opus-4-8", sleep=FixedClock().sleep)
            with pytest.raises(tk.errors.APIError):
                await agent.run("my address is 5 Elm Street")
    assert [one.path for one in service.asked] == ["/v1/messages"]
    assert inside.asked == []


@pytest.mark.parametrize("status", REDIRECTS)
async def test_sms_follows_no_redirect_of_twilio(inside: Inside, status: int) -> None:
    service = Pointing(f"{inside.url}/2010-04-01", status)
    with service.listen() as url:
        carrier = channel(TwilioAPI(), transport=None, base_url=url, sleep=FixedClock().sleep)
        with pytest.raises(OutcomeUnknownError):
            await carrier.send(PHONE, "hi")
        with pytest.raises(OutcomeUnknownError):
            await carrier.find(PHONE, "hi", since=0)
    assert len(service.asked) == 2
    assert inside.asked == []


@pytest.mark.parametrize("page", ["{inside}/page", "@{host}/page", "//{host}/page", "/../..//{host}/", 7])
async def test_sms_reads_the_next_page_at_twilio_only(inside: Inside, page: Any) -> None:
    class Paging(Service):
        def answer(self, asked: Asked) -> Answer:
            return Answer(body={"messages": [], "next_page_uri": more})

    host = inside.url.partition("//")[2]
    more = page.format(inside=inside.url, host=host) if isinstance(page, str) else page
    service = Paging()
    with service.listen() as url:
        carrier = channel(TwilioAPI(), transport=None, base_url=url, sleep=FixedClock().sleep)
        assert await carrier.find(PHONE, "hi", since=0) == []
    assert service.asked
    assert inside.asked == []


@pytest.mark.parametrize("member", ["jku", "x5u", "kid"])
async def test_no_key_is_fetched_for_a_token(stage: Stage, inside: Inside, member: str) -> None:
    """Beside the id of a known key an address says nothing; as the id it is no known key."""
    signed = token(stage, head={member: f"{inside.url}/keys"})
    with desk.Door(stage.records, {}, key=b"k" * 32, tokens=rules()) as door:
        visitor = door.enter()
        with pytest.raises(InputError) if member == "kid" else nullcontext():
            door.sign_in(visitor, signed)
        assert door.seen(visitor).level == ("anonymous" if member == "kid" else "signed_in")
    assert inside.asked == []
