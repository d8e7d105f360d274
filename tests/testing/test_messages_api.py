"""MessagesAPI: SDK clients without sockets, what they sent, and how a test learns of refusals."""

from __future__ import annotations

import asyncio
import itertools
import threading
from typing import Any

import anthropic
import anyio
import httpx2
import pytest

from turnkeeper.errors import InputError
from turnkeeper.testing import FixedClock, FixedIds, MessagesAPI, call, faults, reply, script, text

CREATE: Any = {"model": "claude-opus-5-5", "max_tokens": 64, "messages": [{"role": "user", "content": "Привет"}]}
TOOL: Any = {"name": "f", "input_schema": {"type": "object"}}


def test_a_sync_client_converses() -> None:
    with MessagesAPI(["Guten Tag", "再见"]) as api:
        client = api.sync_client()
        assert client.messages.create(**CREATE).content[0].to_dict() == {"type": "text", "text": "Guten Tag"}
        with client.messages.stream(**CREATE) as stream:
            assert stream.get_final_text() == "再见"
        assert [(record.body or {}).get("stream", False) for record in api.requests] == [False, True]
    assert client.is_closed()


@pytest.mark.anyio
async def test_an_async_client_converses() -> None:
    api = MessagesAPI(["Guten Tag", "再见"])
    client = api.client()
    assert (await client.messages.create(**CREATE)).content[0].to_dict() == {"type": "text", "text": "Guten Tag"}
    async with client.messages.stream(**CREATE) as stream:
        assert await stream.get_final_text() == "再见"
    assert len(api.replies) == 2


def test_clients_ask_no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-real")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "https://api.example.com")
    api = MessagesAPI(["a", "b"])
    api.sync_client().messages.create(**CREATE)
    asyncio.run(create(api.client()))
    for record in api.requests:
        assert record.headers["authorization"] == "Bearer sk-ant-simulator"
        assert record.headers["host"] == "simulator.turnkeeper.test"
        assert "sk-ant-real" not in str(record.headers)


async def create(client: anthropic.AsyncAnthropic) -> Any:
    return await client.messages.create(**CREATE)


def test_a_client_takes_the_sdk_s_options() -> None:
    api = MessagesAPI(["a", "b"])
    api.sync_client(default_headers={"x-extra": "1"}, auth_token="tok").messages.create(**CREATE)
    assert api.requests[0].headers["x-extra"] == "1"
    assert api.requests[0].headers["authorization"] == "Bearer tok"
    assert api.sync_client().max_retries == 0
    assert api.client(max_retries=3).max_retries == 3


def test_one_client_lives_through_many_event_loops() -> None:
    api = MessagesAPI(["a", "b", "c"])
    client = api.client()
    assert [asyncio.run(create(client)).content[0].text for _ in range(3)] == ["a", "b", "c"]


def test_one_api_serves_many_threads() -> None:
    api = MessagesAPI(lambda request: request["messages"][0]["content"])
    said: list[str] = []

    def converse(number: int) -> None:
        messages = [{"role": "user", "content": f"{number}"}]
        if number % 2:
            message = api.sync_client().messages.create(**{**CREATE, "messages": messages})
        else:
            message = asyncio.run(api.client().messages.create(**{**CREATE, "messages": messages}))
        said.append(message.content[0].to_dict()["text"])

    threads = [threading.Thread(target=converse, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(said, key=int) == [str(number) for number in range(12)]
    assert len({record.response_headers["request-id"] for record in api.requests}) == 12


@pytest.mark.anyio
async def test_a_stream_is_read_while_it_is_made() -> None:
    """Nothing is buffered: between two events the model can wait for what the reader does."""
    read: list[str] = []  # filled event by event, so that it shows how far the reader is
    waiting, go_on = anyio.Event(), anyio.Event()

    async def wait(seconds: float) -> None:
        waiting.set()
        await go_on.wait()

    api = MessagesAPI([faults.slow("eins zwei", between=1)], sleep=wait)

    async def converse() -> None:
        async with api.client().messages.stream(**CREATE) as stream:
            async for event in stream:
                read.append(event.type)  # noqa: PERF401 - see above

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(converse)
        await waiting.wait()
        assert read == ["message_start", "content_block_start"]
        go_on.set()
    assert read[-1] == "message_stop"


def test_a_sync_stream_is_read_while_it_is_made() -> None:
    api = MessagesAPI([faults.slow("eins zwei", between=5)])
    with api.sync_client().messages.stream(**CREATE) as stream:
        passed = [(event.type, api.clock.slept) for event in stream if event.type == "text"]
    assert passed == [("text", (5,)), ("text", (5, 5))]


@pytest.mark.anyio
async def test_other_tasks_run_between_the_events_of_a_stream() -> None:
    steps: list[str] = []
    api = MessagesAPI(script("wort " * 300, then="last"))

    async def read(name: str, stream: Any) -> None:
        async for _ in stream.text_stream:
            steps.append(name)  # noqa: PERF401 - the other task appends in between

    streams = api.client().messages.stream(**CREATE), api.client().messages.stream(**CREATE)
    async with streams[0] as one, streams[1] as two, anyio.create_task_group() as tasks:
        tasks.start_soon(read, "a", one)
        tasks.start_soon(read, "b", two)
    assert (steps.count("a"), steps.count("b")) == (300, 300)
    changes = sum(one != other for one, other in itertools.pairwise(steps))
    assert changes > 100


@pytest.mark.anyio
async def test_a_cancelled_stream_is_noted() -> None:
    started = anyio.Event()

    async def wait(seconds: float) -> None:
        started.set()
        await anyio.sleep_forever()

    api = MessagesAPI([faults.slow("eins", between=1), faults.slow("zwei", first=1)], sleep=wait)

    async def converse() -> None:
        async with api.client().messages.stream(**CREATE) as stream:
            await stream.get_final_message()

    for _ in range(2):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(converse)
            await started.wait()
            tasks.cancel_scope.cancel()
        started = anyio.Event()
    assert [record.outcome for record in api.requests] == ["abandoned", "abandoned"]


def test_the_read_timeout_holds_between_events() -> None:
    api = MessagesAPI([faults.slow("eins zwei", between=11)])
    with pytest.raises(httpx2.ReadTimeout), api.sync_client(timeout=10).messages.stream(**CREATE) as stream:
        stream.get_final_message()
    assert api.clock.slept == (10.0,)
    assert api.requests[0].outcome == "abandoned"


def test_the_practice_model_answers() -> None:
    api = MessagesAPI(practice=True)
    message = api.sync_client().messages.create(**CREATE)
    assert message.stop_reason == "end_turn"
    assert message.content
    assert api.script is None
    assert api.unused_replies == 0
    api.assert_all_accepted()


def test_a_script_and_the_practice_model_exclude_each_other() -> None:
    with pytest.raises(InputError, match="give a script or practice=True, not both"):
        MessagesAPI("x", practice=True)


@pytest.mark.parametrize("options", [{"chunk": 0}, {"bytes_per_chunk": 0}])
def test_chunks_have_a_size(options: Any) -> None:
    with pytest.raises(InputError, match=f"{next(iter(options))} is a number from 1 up, not 0"):
        MessagesAPI("x", **options)


def test_outside_of_tests_time_is_real_and_ids_are_random() -> None:
    api = MessagesAPI(["a", "b"], deterministic=False)
    ids = {api.sync_client().messages.create(**CREATE).id for _ in range(2)}
    assert len(ids) == 2
    assert all(id_.startswith("msg_01") for id_ in ids)
    assert api.requests[0].time > 1_700_000_000
    assert api.sleep is anyio.sleep


def test_clock_and_ids_can_be_shared() -> None:
    clock, ids = FixedClock(7), FixedIds()
    first, second = (MessagesAPI("x", clock=clock, ids=ids) for _ in range(2))
    clock.advance(3)
    names = [api.sync_client().messages.create(**CREATE).id for api in (first, second)]
    assert names == ["msg_000001", "msg_000002"]
    assert first.requests[0].time == second.requests[0].time == 10


def test_acceptance_can_be_asserted() -> None:
    api = MessagesAPI([reply(text("moment"), call("f")), "ok"])
    client = api.sync_client()
    client.messages.create(**CREATE, tools=[TOOL])
    api.assert_all_accepted()
    with pytest.raises(anthropic.BadRequestError):
        client.messages.create(**{**CREATE, "messages": [{"role": "user", "content": ""}]})
    with pytest.raises(AssertionError, match="1 of 2 requests were refused"):
        api.assert_all_accepted()


def test_faults_are_no_refusals() -> None:
    api = MessagesAPI([faults.bad_request("absichtlich")])
    with pytest.raises(anthropic.BadRequestError):
        api.sync_client().messages.create(**CREATE)
    assert api.refusals == []
    api.assert_all_accepted()
