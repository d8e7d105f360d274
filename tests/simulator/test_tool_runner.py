"""The official SDK's tool runner against the simulator: threads are refused, and it falls back to whole histories."""

from __future__ import annotations

from typing import Any

import anthropic
import pytest

from turnkeeper.testing import MessagesAPI, call, reply

QUESTION: Any = [{"role": "user", "content": "Wie ist das Wetter in Москва und 北京?"}]


def api() -> MessagesAPI:
    return MessagesAPI(
        [
            reply("Ich sehe nach.", call("weather", {"city": "Москва"}), call("weather", {"city": "北京"})),
            reply(call("weather", {"city": "Köln"})),
            "Überall schön. ☀️",
        ]
    )


def shown(simulated: MessagesAPI) -> list[tuple[int | None, Any]]:
    """Status and thread of every request."""
    return [(record.status, (record.body or {}).get("thread")) for record in simulated.requests]


def check(simulated: MessagesAPI, final: Any) -> None:
    assert final.content[0].text == "Überall schön. ☀️"
    # The first request asks for a thread, is refused, and is sent again without; later ones don't ask.
    assert shown(simulated) == [(400, {"type": "create"}), (200, None), (200, None), (200, None)]
    assert simulated.refusals == []
    simulated.assert_all_accepted()
    last = simulated.requests[-1].body
    assert last is not None
    assert [message["role"] for message in last["messages"]] == ["user", "assistant", "user", "assistant", "user"]
    results = [block for message in last["messages"][2::2] for block in message["content"]]
    assert [(block["tool_use_id"], block["content"]) for block in results] == [
        ("toolu_000001", "Sonne in Москва"),
        ("toolu_000002", "Sonne in 北京"),
        ("toolu_000003", "Sonne in Köln"),
    ]


def test_the_sync_runner_has_a_full_conversation() -> None:
    @anthropic.beta_tool
    def weather(city: str) -> str:
        """The weather.

        Args:
            city: Its name.
        """
        return f"Sonne in {city}"

    simulated = api()
    runner = simulated.sync_client().beta.messages.tool_runner(
        model="claude-opus-5-5", max_tokens=500, messages=QUESTION, tools=[weather]
    )
    check(simulated, runner.until_done())


@pytest.mark.anyio
async def test_the_async_runner_has_a_full_conversation() -> None:
    @anthropic.beta_async_tool
    async def weather(city: str) -> str:
        """The weather.

        Args:
            city: Its name.
        """
        return f"Sonne in {city}"

    simulated = api()
    runner = simulated.client().beta.messages.tool_runner(
        model="claude-opus-5-5", max_tokens=500, messages=QUESTION, tools=[weather]
    )
    check(simulated, await runner.until_done())


def test_the_streaming_runner_has_a_full_conversation() -> None:
    @anthropic.beta_tool
    def weather(city: str) -> str:
        """The weather.

        Args:
            city: Its name.
        """
        return f"Sonne in {city}"

    simulated = api()
    runner = simulated.sync_client().beta.messages.tool_runner(
        model="claude-opus-5-5", max_tokens=500, messages=QUESTION, tools=[weather], stream=True
    )
    final = None
    for stream in runner:
        final = stream.get_final_message()
    check(simulated, final)


def test_the_refusal_carries_the_code_that_the_sdk_falls_back_on() -> None:
    simulated = MessagesAPI("unused")
    with pytest.raises(anthropic.BadRequestError) as caught:
        simulated.sync_client().beta.messages.create(
            model="claude-opus-5-5",
            max_tokens=5,
            messages=QUESTION,
            thread={"type": "create"},
            betas=["message-threads-2026-08-12"],
        )
    assert caught.value.error_code == "thread_unsupported_request"
    assert simulated.unused_replies == 1


def test_threads_are_refused_without_the_rules_too() -> None:
    simulated = MessagesAPI("unused", strict=False)
    with pytest.raises(anthropic.BadRequestError) as caught:
        simulated.sync_client().beta.messages.create(
            model="local", max_tokens=5, messages=[], thread={"type": "continue", "previous_message_id": "msg_1"}
        )
    assert caught.value.error_code == "thread_unsupported_request"
