"""Export and import: a conversation goes from any journal to any other and stays the same to the byte."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.journal.conftest import Open
from tests.journal.samples import ANA, NOON, one_turn, said, started
from turnkeeper.core.events import TurnStarted, TurnWarned
from turnkeeper.errors import ConversationBusyError, JournalVersionError, UnknownConversationError
from turnkeeper.journal import Journal, MemoryJournal
from turnkeeper.journal.errors import ConversationExistsError, ImportRejectedError

pytestmark = pytest.mark.anyio


async def filled(journal: Journal) -> str:
    """A conversation appended under two leases, as an export."""
    first = await journal.acquire("c-1", holder="a", seconds=1, now=NOON)
    await journal.append("c-1", one_turn("Что в «кавычках»? \x00 🙂"), after=0, token=first.token)
    second = await journal.acquire("c-1", holder="b", seconds=1, now=NOON + 9)
    await journal.append("c-1", [TurnStarted(content='[\n{"type":"text", "text":"a"}]')], after=9, token=second.token)
    await journal.append("c-1", [TurnWarned(code="x", message="without a lease")], after=10)
    return await journal.export("c-1")


async def test_a_conversation_carried_over_is_the_same(journal: Journal, database_url: str, opened: Open) -> None:
    there = await opened(database_url) if isinstance(journal, MemoryJournal) else MemoryJournal()
    text = await filled(journal)
    summary = await there.import_(text)
    assert await there.conversations() == await journal.conversations() == [summary]
    assert await there.read("c-1") == await journal.read("c-1")
    assert await there.export("c-1") == text
    assert await there.verify("c-1") == []


async def test_every_journal_exports_the_same_text(journal: Journal) -> None:
    assert await filled(journal) == await filled(MemoryJournal())


async def test_an_export_is_json_lines_with_versions_and_hashes(journal: Journal) -> None:
    lines = [json.loads(line) for line in (await filled(journal)).splitlines()]
    assert lines[0] == {"turnkeeper_export": 1, "conversation": "c-1", "events": 11, "hash": lines[-1]["hash"]}
    assert [line["seq"] for line in lines[1:]] == list(range(1, 12))
    assert {line["format"] for line in lines[1:]} == {1}
    assert [line["token"] for line in lines[1:]] == [1] * 9 + [2, None]
    assert json.loads(lines[2]["payload"]) == {"content": "Что в «кавычках»? \x00 🙂"}
    assert len({line["hash"] for line in lines[1:]}) == 11


async def test_an_imported_conversation_goes_on_under_higher_tokens(journal: Journal) -> None:
    text = await filled(MemoryJournal())
    await journal.import_(text)
    lease = await journal.acquire("c-1", holder="c", seconds=30, now=NOON)
    assert lease.token == 3
    with pytest.raises(ConversationBusyError):
        await journal.append("c-1", [said()], after=11, token=2)
    assert await journal.append("c-1", [said()], after=11, token=lease.token) == 12
    assert await journal.verify("c-1") == []


async def test_a_conversation_that_exists_is_not_imported_over(journal: Journal) -> None:
    text = await filled(MemoryJournal())
    await journal.append("c-1", [started(ANA)], after=0)
    with pytest.raises(ConversationExistsError, match="c-1"):
        await journal.import_(text)
    assert await journal.read("c-1") == [started(ANA)]


async def test_an_erased_conversation_may_be_imported_again(journal: Journal) -> None:
    text = await filled(journal)
    await journal.erase("c-1", by=ANA, now=NOON)
    await journal.import_(text)
    assert await journal.export("c-1") == text


async def test_what_is_not_there_is_not_exported(journal: Journal) -> None:
    with pytest.raises(UnknownConversationError, match="nobody"):
        await journal.export("nobody")


def changed(text: str, line: int, **members: Any) -> str:
    lines = text.splitlines()
    lines[line] = json.dumps(json.loads(lines[line]) | members, ensure_ascii=False)
    return "\n".join(lines) + "\n"


def without(text: str, line: int) -> str:
    lines = text.splitlines()
    del lines[line]
    return "\n".join(lines) + "\n"


FORGERIES: dict[str, tuple[Callable[[str], str], str]] = {
    "nothing": (lambda text: "", "line 1"),
    "not JSON": (lambda text: "hello", "line 1 is not a JSON object"),
    "another file": (lambda text: '{"role":"user"}\n', "not the head of an export"),
    "no name": (lambda text: changed(text, 0, conversation=7), "names no conversation"),
    "an impossible name": (lambda text: changed(text, 0, conversation="a\nb"), "U\\+000A"),
    "another name": (lambda text: changed(text, 0, conversation="c-2"), "event 1 is not what was written"),
    "cut at the end": (lambda text: without(text, -1), "not whole: 11 events are announced, 10 are there"),
    "cut at the end, head adapted": (lambda text: changed(without(text, -1), 0, events=10), "its end"),
    "only a head": (lambda text: text.splitlines()[0], "not whole"),
    "cut in the middle": (lambda text: changed(without(text, 5), 0, events=10), "event 5 is missing"),
    "payload": (lambda text: changed(text, 3, payload="{}"), "event 3 is not what was written"),
    "time": (lambda text: changed(text, 3, at=0.5), "event 3"),
    "token": (lambda text: changed(text, 3, token=9), "event 3"),
    "type": (lambda text: changed(text, 3, type="turn_warned"), "event 3"),
    "hash": (lambda text: changed(text, 3, hash="0" * 64), "event 3"),
    "no payload": (lambda text: changed(text, 3, payload=None), "line 4 has no usable 'payload'"),
    "number as text": (lambda text: changed(text, 3, seq="3"), "line 4 has no usable 'seq'"),
    "number as truth": (lambda text: changed(text, 1, seq=True), "line 2 has no usable 'seq'"),
    "cut in a line": (lambda text: text[:-40], "line 12 is not a JSON object"),
}


@pytest.mark.parametrize("forgery", FORGERIES)
async def test_a_text_that_is_no_whole_export_is_rejected(journal: Journal, forgery: str) -> None:
    change, message = FORGERIES[forgery]
    text = change(await filled(MemoryJournal()))
    with pytest.raises(ImportRejectedError, match=message):
        await journal.import_(text)
    assert await journal.conversations() == []


@pytest.mark.parametrize(("line", "members"), [(0, {"turnkeeper_export": 2}), (4, {"format": 99})])
async def test_an_export_of_a_newer_version_is_told_apart(line: int, members: dict[str, int]) -> None:
    text = changed(await filled(MemoryJournal()), line, **members)
    if line:
        text = rehashed(text)
    with pytest.raises(JournalVersionError, match="Upgrade Turnkeeper"):
        await MemoryJournal().import_(text)


def rehashed(text: str) -> str:
    """An export whose hashes are right again after a change."""
    from turnkeeper.journal.chain import Row, link

    head, *lines = (json.loads(line) for line in text.splitlines())
    previous = ""
    for line in lines:
        previous = line["hash"] = link(previous, head["conversation"], Row(**line))
    head["hash"] = previous
    return "\n".join(json.dumps(line, ensure_ascii=False) for line in (head, *lines)) + "\n"


async def test_an_event_that_can_not_be_read_is_not_imported(journal: Journal) -> None:
    text = rehashed(changed(await filled(MemoryJournal()), 3, payload='{"number":"'))
    with pytest.raises(ImportRejectedError, match="event 3"):
        await journal.import_(text)
    assert await journal.conversations() == []
