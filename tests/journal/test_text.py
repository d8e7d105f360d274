"""Text of every kind is stored: lone surrogates are folded before, NUL and right-to-left text are kept."""

from __future__ import annotations

import json

import pytest
import sqlalchemy as sa

import turnkeeper as tk
from tests.journal.conftest import Open
from tests.journal.samples import ended, said, started
from turnkeeper import testing
from turnkeeper.core.events import CallFinished, ConversationStarted, TurnStarted, TurnWarned
from turnkeeper.errors import JournalError
from turnkeeper.journal import Journal
from turnkeeper.wire.json import encode

pytestmark = pytest.mark.anyio

TEXTS = {
    "Cyrillic": "Где мой заказ № 24601?",
    "Chinese": "我的订单在哪里？𠀀",
    "emoji": "👩‍👧‍👦🏳️‍🌈 🙂",
    "right to left": "שלום \u202eevil\u202c مرحبا",
    "NUL": "before\x00after",
    "controls": "\x01\x1b[31m\x7f\x85\u2028\u2029\r\n\t",
    "noncharacters": "\ufffe\uffff\U0010ffff",
    "quotes": "'; DROP TABLE turnkeeper_events; -- \\ % %s :id ? $1 {}",
    "combining": "e\u0301 é Å\u030a",
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
async def test_text_comes_back_character_by_character(journal: Journal, text: str) -> None:
    events = [
        started(tk.Principal("customer", "1")),
        said(text),
        said([{"type": "text", "text": text}]),
        CallFinished(call_id=text, state="failed", content=encode(text), is_error=True),
        TurnWarned(code="x", message=text),
    ]
    await journal.append("c-1", events, after=0)
    assert await journal.read("c-1") == events
    assert await journal.verify("c-1") == []


async def test_lone_surrogates_never_reach_the_database(database_journal: Journal, database_url: str) -> None:
    """Report B03-surrogate-in-log-db.

    https://github.com/simonw/llm/issues/546
    """
    raw = '[{"type":"text","text":"pri\udc81ce 🙂"}]'  # not what encode gives, but what a careless caller might
    events = [
        ConversationStarted(principal={"kind": "custo\udc81mer", "id": "\ud83d", "level": "claimed"}),
        said("price \udc81 list 🙂"),
        TurnStarted(content=raw),
        TurnWarned(code="\ud83d", message="\ud83d\ude42 \ude42"),
    ]
    await database_journal.append("c-1", events, after=0)
    found = await database_journal.read("c-1")
    assert found[1] == said("price \ufffd list 🙂")
    assert found[2] == TurnStarted(content=raw.replace("\udc81", "\ufffd"))
    assert found[3] == TurnWarned(code="\ufffd", message="🙂 \ufffd")
    for text in stored_text(database_url):
        assert text.encode() == text.encode("utf-8", "surrogatepass")


async def test_a_turn_with_lone_surrogates_is_kept_and_gone_on_with(database_url: str) -> None:
    """Report B03-surrogate-in-log-db.

    https://github.com/simonw/llm/issues/546
    """
    api = testing.MessagesAPI(testing.script(testing.text("costs \ud83d 5 € 🙂"), testing.text("Gern.")))
    agent = tk.Agent(model="claude-opus-4-8", max_tokens=1000, client=api)
    async with agent.open(database_url) as keeper:
        conversation = await keeper.conversation("c-1")
        reply = await conversation.send("price \udc81 list 🙂")
        assert reply.status == "completed"
    async with agent.open(database_url) as keeper:
        conversation = await keeper.conversation("c-1")
        assert (await conversation.send("danke")).text == "Gern."
        kept = json.dumps(conversation.messages, ensure_ascii=False)
    for text in (kept, *stored_text(database_url)):
        text.encode()
    assert "price \ufffd list 🙂" in kept
    assert "🙂" in reply.text
    for request in api.requests:
        sent = request.raw.decode()
        assert not any("\ud800" <= c <= "\udfff" for c in json.dumps(json.loads(sent), ensure_ascii=False))


async def test_a_payload_is_text_as_it_was_written(database_journal: Journal, database_url: str) -> None:
    content = '{"b":1,"a":{"z":"\\u0000","y":1.50e1},"a2":[ 1 , 2 ]}'
    await database_journal.append("c-1", [TurnStarted(content=content)], after=0)
    assert f'{{"content":{content}}}' in stored_text(database_url)


async def test_a_payload_that_is_not_json_is_refused(database_journal: Journal) -> None:
    with pytest.raises(JournalError, match="NUL"):
        await database_journal.append("c-1", [TurnStarted(content='"a\x00b"')], after=0)
    assert await database_journal.conversations() == []


async def test_a_large_event_is_stored_whole(journal: Journal) -> None:
    big = TurnWarned(code="big", message='я🙂\\"' * 500_000)
    await journal.append("c-1", [big, ended()], after=0)
    assert await journal.read("c-1") == [big, ended()]


async def test_a_journal_is_found_again_under_a_path_with_odd_characters(tmp_path: object, opened: Open) -> None:
    url = f"sqlite:///{tmp_path}/Ünïcode 目录/ж & 'q' 100%.db"
    journal = await opened(url)
    await journal.append("c-1", [started()], after=0)
    await journal.aclose()
    assert await (await opened(url)).read("c-1") == [started()]


def stored_text(url: str) -> list[str]:
    """Every text in the journal's tables."""
    engine = sa.create_engine(url)
    with engine.connect() as connection:
        rows = [
            value
            for table in ("turnkeeper_conversations", "turnkeeper_events")
            for row in connection.execute(sa.text(f"SELECT * FROM {table}"))
            for value in row
        ]
    engine.dispose()
    return [value for value in rows if isinstance(value, str)]
