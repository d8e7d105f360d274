"""Results too large for the model: the journal keeps all of them, the model reads on."""

from __future__ import annotations

import json
from typing import Any

import pytest

import turnkeeper as tk
from tests.driver.conftest import agent_over, sent
from turnkeeper.core.events import CallFinished
from turnkeeper.errors import ConfigurationError
from turnkeeper.testing import MessagesAPI, call, reply, script
from turnkeeper.tools import head_of

pytestmark = pytest.mark.anyio

LINES = [f"Строка {number}: 货物 📦 {'x' * 20}" for number in range(300)]
BOOK = "\n".join(LINES)
"""About 10,000 characters, 12,500 bytes."""


@tk.tool(effect="read")
def book() -> str:
    """The whole book."""
    return BOOK


@tk.tool(effect="read")
def table() -> list[dict[str, Any]]:
    """Data."""
    return [{"name": line, "n": 1} for line in LINES]


@tk.tool(effect="read", untrusted=True)
def page() -> str:
    """A page of the web."""
    return BOOK


def result(api: MessagesAPI, number: int) -> str:
    content = sent(api, number)["messages"][-1]["content"][0]["content"]
    assert isinstance(content, str)
    return content


async def test_the_model_gets_the_head_and_reads_on_to_the_end_also_in_another_process(tmp_path: Any) -> None:
    url = f"sqlite:///{tmp_path}/journal.db"
    api = MessagesAPI(script(reply(call("book", id="toolu_b")), "Long."))
    async with agent_over(api, tools=[book], result_head=4_000).open(url) as keeper:
        await (await keeper.conversation("c")).send("Read it.")
        [event] = [one for one in await keeper.journal.read("c") if isinstance(one, CallFinished)]
        assert event.whole is not None
        assert json.loads(event.whole) == BOOK
    head = result(api, 1)
    assert head == (
        BOOK[:4_000]
        + f"\n[characters 0 to 4000 of {len(BOOK)}."
        + ' To read on, call read_result with call_id "toolu_b" and offset 4000.]'
    )
    assert [one["name"] for one in sent(api, 0)["tools"]] == ["book", "read_result"]
    read = head.rpartition("\n[")[0]
    reads = [{"call_id": "toolu_b", "offset": at} for at in (4_000, 8_000)]
    again = MessagesAPI(script(*[reply(call("read_result", one)) for one in reads], "All read."))
    async with agent_over(again, tools=[book], result_head=4_000).open(url) as keeper:
        conversation = await keeper.conversation("c")
        assert (await conversation.send("Go on.")).text == "All read."
    read += result(again, 1).rpartition("\n[")[0] + result(again, 2)
    assert read == BOOK
    again.assert_all_accepted()


async def test_what_is_kept_of_data_is_its_compact_json() -> None:
    api = MessagesAPI(
        script(
            reply(call("table", id="toolu_t")), reply(call("read_result", {"call_id": "toolu_t", "offset": 900})), "ok"
        )
    )
    async with agent_over(api, tools=[table], result_head=1_000).open() as keeper:
        await (await keeper.conversation("c")).send("go")
    whole = json.dumps(table(), ensure_ascii=False, separators=(",", ":"))
    assert result(api, 1).startswith(whole[:900])
    assert result(api, 2).startswith(whole[900:1_800])


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"call_id": "toolu_no"}, "No large result of a call 'toolu_no' is kept"),
        ({"call_id": "toolu_b", "offset": 10**6}, f"offset is from 0 to {len(BOOK) - 1}"),
        ({"call_id": "toolu_b", "offset": -1}, f"offset is from 0 to {len(BOOK) - 1}"),
    ],
)
async def test_reading_what_is_not_there_is_explained(arguments: dict[str, Any], says: str) -> None:
    api = MessagesAPI(script(reply(call("book", id="toolu_b")), reply(call("read_result", arguments)), "ok"))
    async with agent_over(api, tools=[book], result_head=4_000).open() as keeper:
        await (await keeper.conversation("c")).send("go")
    assert says in result(api, 2)


async def test_another_conversations_results_are_not_read() -> None:
    api = MessagesAPI(
        script(reply(call("book", id="toolu_b")), "ok", reply(call("read_result", {"call_id": "toolu_b"})), "ok")
    )
    async with agent_over(api, tools=[book], result_head=4_000).open() as keeper:
        await (await keeper.conversation("mine")).send("go")
        await (await keeper.conversation("yours")).send("go")
    assert "No large result" in result(api, 3)


async def test_what_is_read_on_in_untrusted_text_is_labelled_too() -> None:
    read = reply(call("read_result", {"call_id": "toolu_p", "offset": 4_000}, id="toolu_r"))
    api = MessagesAPI(script(reply(call("page", id="toolu_p")), read, "ok"))
    async with agent_over(api, tools=[page], result_head=4_000).open() as keeper:
        await (await keeper.conversation("c")).send("go")
        events = [one for one in await keeper.journal.read("c") if isinstance(one, CallFinished)]
    assert [one.untrusted for one in events] == ["page", "page"]
    assert BOOK[4_000:4_100] in result(api, 2)
    assert "untrusted" in result(api, 2)


async def test_a_turn_in_memory_is_offered_no_more_than_its_tools() -> None:
    api = MessagesAPI(script(reply(call("book")), "ok"))
    await agent_over(api, tools=[book], result_head=4_000).run("go")
    assert [one["name"] for one in sent(api, 0)["tools"]] == ["book"]
    assert result(api, 1) == BOOK


async def test_a_tools_own_limit_is_the_head_where_it_is_smaller() -> None:
    @tk.tool(effect="read", result_limit=500)
    def short() -> str:
        """Text."""
        return "é" * 3_000

    api = MessagesAPI(script(reply(call("short", id="toolu_s")), "ok"))
    async with agent_over(api, tools=[short], result_head=4_000).open() as keeper:
        await (await keeper.conversation("c")).send("go")
    assert result(api, 1).startswith("é" * 500 + "\n[characters 0 to 500 of 3000.")


async def test_without_a_head_results_are_cut_as_before() -> None:
    api = MessagesAPI(script(reply(call("book")), "ok"))
    async with agent_over(api, tools=[book]).open() as keeper:
        await (await keeper.conversation("c")).send("go")
    assert [one["name"] for one in sent(api, 0)["tools"]] == ["book"]


def test_a_head_that_holds_nothing_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="result_head must be 200 characters or more"):
        tk.Agent(result_head=10)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("a" * 9 + "e\u0301" + "b" * 9, "a" * 9),  # an accent stays with its letter
        ("a" * 8 + "👩🏽\u200d🚒" + "b" * 9, "a" * 8),
        ("a" * 9 + "🇩🇪" + "b" * 9, "a" * 9),
        ("a" * 8 + "🇩🇪🇫🇷" + "b" * 9, "a" * 8 + "🇩🇪"),
        ("a" * 9 + "\r\n" + "b" * 9, "a" * 9),
        ("货" * 30, "货" * 10),
        ("שלום עולם שלום", "שלום עולם "),
    ],
)
def test_a_text_is_cut_between_characters_as_people_see_them(text: str, kept: str) -> None:
    head = head_of(text, 10, "toolu_1")
    assert head is not None
    assert head[0] == kept
    assert head_of(text, len(text), "toolu_1") is None
