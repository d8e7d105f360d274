"""Scripts: what an entry may be, when it is taken, and how mistakes in one are named."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import anyio
import pytest

from tests.simulator.asking import ask
from turnkeeper.errors import InputError
from turnkeeper.testing import MessagesAPI, call, faults, reply, script, text


def texts(api: MessagesAPI, number: int) -> list[str]:
    return [ask(api).json["content"][0]["text"] for _ in range(number)]


def test_replies_are_taken_in_order() -> None:
    api = MessagesAPI(script("一", {"content": "二"}, reply("三"), lambda request: request["messages"][0]["content"]))
    assert texts(api, 4) == ["一", "二", "三", "Привет! 你好 👋"]
    assert api.unused_replies == 0


def test_a_block_alone_is_a_reply_of_one_block() -> None:
    api = MessagesAPI(script(call("f", {"a": 1}), text("ja"), {"type": "message", "content": "nein"}))
    first = ask(api).json
    assert (first["stop_reason"], first["content"][0]["input"]) == ("tool_use", {"a": 1})
    assert texts(api, 2) == ["ja", "nein"]


def test_a_request_after_the_last_reply_is_refused_loudly() -> None:
    api = MessagesAPI(script("only"))
    ask(api)
    answer = ask(api)
    assert answer.status == 400
    assert answer.json["error"] == {
        "type": "invalid_request_error",
        "message": "the script has no more replies for this request; add one, or make it with then='repeat' or 'last'",
    }
    with pytest.raises(AssertionError, match=r"1 of 2 requests were refused:\n  request 2, POST /v1/messages: 400"):
        api.assert_all_accepted()


def test_an_api_without_a_script_refuses_every_message() -> None:
    api = MessagesAPI()
    assert [ask(api).status, ask(api, path="/v1/messages/count_tokens").status] == [400, 400]
    assert ask(api, path="/v1/messages/count_tokens", max_tokens=None).status == 400


def test_repeat_starts_again_and_last_stays() -> None:
    assert texts(MessagesAPI(script("a", "b", then="repeat")), 5) == ["a", "b", "a", "b", "a"]
    assert texts(MessagesAPI(script("a", "b", then="last")), 4) == ["a", "b", "b", "b"]


def test_a_function_alone_answers_every_request() -> None:
    seen: list[Any] = []

    def answer(request: dict[str, Any]) -> Any:
        seen.append(request["max_tokens"])
        return reply(call("f")) if len(seen) == 1 else f"{len(seen)}."

    api = MessagesAPI(answer)
    assert ask(api, max_tokens=5).json["stop_reason"] == "tool_use"
    assert texts(api, 2) == ["2.", "3."]
    assert seen == [5, 1024, 1024]


def test_a_function_may_give_a_fault() -> None:
    assert ask(MessagesAPI(lambda _: faults.overloaded())).status == 529


def test_a_function_that_fails_is_a_refusal_that_names_its_error() -> None:
    def broken(request: dict[str, Any]) -> str:
        assert request["max_tokens"] == 7, "wrong max_tokens"
        return "x"

    api = MessagesAPI(broken)
    answer = ask(api)
    assert answer.status == 400
    assert answer.json["error"]["message"].startswith(
        "the script failed on this request: AssertionError: wrong max_tokens"
    )
    with pytest.raises(AssertionError) as caught:
        api.assert_all_accepted()
    assert isinstance(caught.value.__cause__, AssertionError)
    assert caught.value.__cause__ is api.requests[0].error


def test_a_function_that_gives_no_entry_is_named() -> None:
    def nothing(request: dict[str, Any]) -> None:
        return None

    message = ask(MessagesAPI(nothing)).json["error"]["message"]
    assert message.endswith(
        "replies[0] (returned by nothing): expected a text, a reply, a function or a fault, found NoneType: None"
    )


@pytest.mark.anyio
async def test_an_async_function_is_awaited() -> None:
    asked, may_answer = anyio.Event(), anyio.Event()

    async def answer(request: dict[str, Any]) -> str:
        asked.set()
        await may_answer.wait()
        return "endlich"

    api = MessagesAPI(answer)
    client = api.client()
    said: list[Any] = []

    async def converse() -> None:
        message = await client.messages.create(
            model="claude-opus-5-5", max_tokens=9, messages=[{"role": "user", "content": "?"}]
        )
        said.append(message.content[0])

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(converse)
        await asked.wait()
        assert said == []
        may_answer.set()
    assert said[0].text == "endlich"


def test_the_sync_client_says_that_it_cannot_wait_for_an_event_loop() -> None:
    async def answer(request: dict[str, Any]) -> str:
        await asyncio.sleep(0)
        return "nie"

    assert ask(MessagesAPI(answer)).json["error"]["message"] == (
        "the script failed on this request: InputError: a script that waits for an event loop needs the async client"
    )


def test_threads_never_take_the_same_reply() -> None:
    api = MessagesAPI(script(*[str(number) for number in range(40)]))
    taken: list[str] = []
    threads = [threading.Thread(target=lambda: taken.extend(texts(api, 10))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken, key=int) == [str(number) for number in range(40)]
    assert [record.number for record in api.requests] == list(range(1, 41))


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        (5, "replies[1]: expected a text, a reply, a function or a fault, found int: 5"),
        (
            {"stop_reson": "end_turn"},
            "replies[1]: unknown field 'stop_reson'; did you mean 'stop_reason'? "
            "Fields the API doesn't know go under 'extra'.",
        ),
        ({"content": 5}, "replies[1].content: expected a list of blocks or a text, found int"),
        ({"content": ["x"]}, "replies[1].content[0]: expected a block, found str: 'x'"),
        ({"content": [{}]}, "replies[1].content[0]: a block needs a 'type', such as text or tool_use"),
        (
            {"content": [{"type": "text", "text": "a"}, {"type": "tool_use"}]},
            "replies[1].content[1]: a tool_use block needs the tool's 'name'",
        ),
        ({"content": [{"type": "text"}]}, "replies[1].content[0]: a text block needs its 'text'"),
        (
            {"content": [{"type": "tool_use", "name": "f", "raw_input": {}}]},
            "replies[1].content[0].raw_input: expected a text, found dict",
        ),
        ({"stop_reason": 3}, "replies[1].stop_reason: expected a text or null, found 3"),
        ({"usage": 3}, "replies[1].usage: expected an object or null, found 3"),
        ({"events": {}}, "replies[1].events: expected a list of events, found dict"),
        ({"extra": []}, "replies[1].extra: expected an object, found list"),
        ({"chunk": 0}, "replies[1].chunk: expected a number of characters from 1 up, found 0"),
        (
            faults.done_line(),
            "replies[1]: done_line needs the reply that it spoils, as in done_line(reply, …)",
        ),
        (faults.done_line(faults.overloaded()), "replies[1]: done_line spoils a reply, not another fault"),
    ],
)
def test_a_mistake_in_a_script_is_named_with_its_place(entry: Any, said: str) -> None:
    with pytest.raises(InputError) as caught:
        script("fine", entry)
    assert str(caught.value) == said


@pytest.mark.parametrize("then", ["repeat", "last"])
def test_an_empty_script_has_nothing_to_repeat(then: Any) -> None:
    with pytest.raises(InputError, match=f"then='{then}' needs at least one reply"):
        script(then=then)


def test_an_unknown_then_is_refused() -> None:
    with pytest.raises(InputError, match="then: 'loop' is none of refuse, repeat, last"):
        script("a", then="loop")  # type: ignore[arg-type]
