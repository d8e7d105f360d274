"""Every stop reason, end to end: what is sent, what is run, how the turn ends. Each request is judged by the rules."""

from __future__ import annotations

import json
from typing import Any

import anthropic
import httpx2
import pytest

import turnkeeper as tk
from tests.driver.conftest import Make, agent_over, sent
from turnkeeper.testing import MessagesAPI, call, reply, script, text

pytestmark = pytest.mark.anyio


class Counter:
    """A tool that counts its calls."""

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []

    def tool(self, name: str = "lookup", **options: Any) -> tk.Tool:
        def lookup(key: str = "") -> str:
            """Look a thing up."""
            self.calls.append({"key": key})
            return f"found {key}"

        return tk.tool(name=name, **options)(lookup)


async def test_text_that_ends_is_the_answer(make: Make) -> None:
    api = MessagesAPI(script("Привет! 🙂"))
    found = await make(api).run("hi")
    assert (found.text, found.status, found.reason) == ("Привет! 🙂", tk.TurnStatus.COMPLETED, "")
    assert found.stop_reason == "end_turn"
    assert found.messages == [
        {"role": "user", "content": [text("hi")]},
        {"role": "assistant", "content": [text("Привет! 🙂")]},
    ]


async def test_calls_are_run_and_their_results_sent_until_the_model_stops(make: Make) -> None:
    counter = Counter()
    api = MessagesAPI(script(reply("Looking.", call("lookup", {"key": "ключ"})), "Done."))
    found = await make(api, tools=[counter.tool()]).run("go")
    assert counter.calls == [{"key": "ключ"}]
    assert found.text == "Done."
    (result,) = sent(api, 1)["messages"][2]["content"]
    assert result["type"] == "tool_result"
    assert result["content"] == "found ключ"
    assert sent(api, 1)["messages"][1]["content"][0] == text("Looking.")
    api.assert_all_accepted()


async def test_calls_beside_end_turn_are_run_and_the_stop_reason_is_recorded(make: Make) -> None:
    """Report A11-end-turn-with-tool-use-blocks.

    https://github.com/strands-agents/harness-sdk/pull/1827
    """
    counter = Counter()
    first = reply("Let me check.", call("lookup"), stop_reason="end_turn")
    api = MessagesAPI(script(first, "It is 12:00."))
    found = await make(api, tools=[counter.tool()]).run("time?")
    assert (len(counter.calls), len(api.requests), found.text) == (1, 2, "It is 12:00.")
    api.assert_all_accepted()


async def test_calls_of_a_truncated_reply_are_never_run_and_each_retry_has_more_room(make: Make) -> None:
    """Report A04-max-tokens-empty-input-executed.

    https://github.com/mattmezza/humux/issues/77
    """
    counter = Counter()
    cut = reply("Writing the page.", call("lookup", {}), stop_reason="max_tokens")
    api = MessagesAPI(script(cut, cut, cut, "fine"))
    agent = make(api, tools=[counter.tool()])
    async with agent.open() as keeper:
        conversation = await keeper.conversation("c")
        found = await conversation.send("make a 25 card page")
        assert (found.status, found.reason) == (tk.TurnStatus.TRUNCATED, "max_tokens")
        assert found.text == "Writing the page."
        assert [sent(api, n)["max_tokens"] for n in range(3)] == [1000, 4000, 16000]
        assert counter.calls == []
        assert [message["role"] for message in conversation.messages] == ["user"]
        assert (await conversation.send("go on")).text == "fine"
    api.assert_all_accepted()


async def test_a_truncated_answer_that_fits_the_second_time_is_the_answer(make: Make) -> None:
    api = MessagesAPI(script(reply("Once upon", stop_reason="max_tokens"), "Once upon a time."))
    found = await make(api).run("tell")
    assert (found.text, found.status) == ("Once upon a time.", tk.TurnStatus.COMPLETED)
    assert sent(api, 1)["messages"] == sent(api, 0)["messages"]


async def test_a_refusal_is_discarded_runs_nothing_and_leaves_the_conversation_usable(make: Make) -> None:
    """Report A37-refusal-with-pending-tool-use.

    https://github.com/laravel/ai/pull/881
    """
    counter = Counter()
    details = {"type": "refusal", "category": None, "explanation": None}
    refused = reply("I will ", call("lookup", id="toolu_1"), stop_reason="refusal", stop_details=details)
    api = MessagesAPI(script(refused, "hello"))
    async with make(api, tools=[counter.tool()]).open() as keeper:
        conversation = await keeper.conversation("c")
        found = await conversation.send("x")
        assert (found.status, found.text, found.stop_details) == (tk.TurnStatus.REFUSED, "", details)
        assert (len(api.requests), counter.calls) == (1, [])
        assert (await conversation.send("hi")).text == "hello"
    assert b"toolu_1" not in api.requests[1].raw
    api.assert_all_accepted()


async def test_a_paused_turn_is_sent_on_as_it_is(make: Make) -> None:
    """Report A13-pause-turn-is-not-the-end.

    https://github.com/anthropics/anthropic-sdk-python/pull/1648
    """
    search = {"type": "web_search_20250305", "name": "web_search"}
    server = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "q"}}
    came = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
    api = MessagesAPI(script(reply("Searching", server, stop_reason="pause_turn"), reply(came, "Answer.")))
    found = await make(api, tools=[search]).run("q?")
    assert (found.text, len(api.requests)) == ("Answer.", 2)
    last = sent(api, 1)["messages"][-1]
    assert last == {"role": "assistant", "content": [text("Searching"), server]}
    api.assert_all_accepted()


async def test_an_endless_pause_ends_at_its_bound_and_the_next_message_is_accepted(make: Make) -> None:
    search = {"type": "web_search_20250305", "name": "web_search"}

    def pause(request: dict[str, Any]) -> dict[str, Any]:
        if request["messages"][-1]["role"] == "user" and len(request["messages"]) > 1:
            return reply("ok")
        number = (len(request["messages"][-1]["content"]) + 1) // 2 if len(request["messages"]) > 1 else 0
        server = {"type": "server_tool_use", "id": f"srvtoolu_{number}", "name": "web_search", "input": {}}
        before = {"type": "web_search_tool_result", "tool_use_id": f"srvtoolu_{number - 1}", "content": []}
        return reply(*([before] if number else []), server, stop_reason="pause_turn")

    api = MessagesAPI(pause)
    async with make(api, tools=[search]).open() as keeper:
        conversation = await keeper.conversation("c")
        found = await conversation.send("q?")
        assert (found.status, found.reason) == (tk.TurnStatus.LIMIT_REACHED, "pause_turn")
        assert len(api.requests) == 11
        assert (await conversation.send("stop")).text == "ok"
    api.assert_all_accepted()


async def test_a_server_call_beside_a_client_call_is_left_to_the_api(make: Make) -> None:
    """Report A17-server-and-client-tool-in-one-turn-deferred.

    https://github.com/vellum-ai/vellum-assistant/pull/40137
    """
    search = {"type": "web_search_20250305", "name": "web_search"}
    server = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "q"}}
    came = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
    mixed = reply(server, call("lookup", id="toolu_1"), stop_reason="tool_use")
    api = MessagesAPI(script(mixed, reply(came, "Both done."), "And more."))
    async with make(api, tools=[search, Counter().tool()]).open() as keeper:
        conversation = await keeper.conversation("c")
        assert (await conversation.send("search q and tell the time")).text == "Both done."
        asked, answered = sent(api, 1)["messages"][1:]
        assert [block["type"] for block in asked["content"]] == ["server_tool_use", "tool_use"]
        assert [block["type"] for block in answered["content"]] == ["tool_result"]
        assert (await conversation.send("more")).text == "And more."
    api.assert_all_accepted()


@pytest.mark.parametrize("content", ["<calls x()>", None])
async def test_tool_use_without_calls_is_asked_again_once_and_then_fails_openly(
    make: Make, content: str | None
) -> None:
    """Report A12-tool-use-stop-with-no-blocks.

    https://github.com/rescrv/claudius/pull/106
    """
    blocks = [content] if content else []
    odd = reply(*blocks, stop_reason="tool_use")
    api = MessagesAPI(script(odd, odd, "ok"))
    async with make(api, tools=[Counter().tool()]).open() as keeper:
        conversation = await keeper.conversation("c")
        found = await conversation.send("go")
        assert (found.status, found.reason, found.text) == (
            tk.TurnStatus.FAILED,
            "tool_use_without_calls",
            content or "",
        )
        assert len(api.requests) == 2
        assert found.warnings
        assert (await conversation.send("again")).text == "ok"
    api.assert_all_accepted()


@pytest.mark.parametrize("blocks", [[], [text("\n\n")], [{"type": "thinking", "thinking": "", "signature": "c2ln"}]])
async def test_an_empty_reply_is_asked_again_once_and_then_completes_with_its_reason(
    make: Make, blocks: list[dict[str, Any]]
) -> None:
    api = MessagesAPI(script(reply(*blocks), reply(*blocks), "ok"), strict=False)
    async with make(api).open() as keeper:
        conversation = await keeper.conversation("c")
        found = await conversation.send("go")
        assert (found.status, found.reason, found.text) == (tk.TurnStatus.COMPLETED, "empty_reply", "")
        assert (await conversation.send("again")).text == "ok"
    assert len(api.requests) == 3
    assert [message["role"] for message in sent(api, 2)["messages"]] == ["user"]


async def test_blank_text_beside_a_call_is_not_sent_back(make: Make) -> None:
    """Report A33-whitespace-only-text-from-model.

    https://github.com/nick1udwig/kibitz/issues/78
    """
    api = MessagesAPI(script(reply("\n\n", call("lookup", id="toolu_1")), "ok"))
    found = await make(api, tools=[Counter().tool()]).run("go")
    assert found.text == "ok"
    assert [block["type"] for block in sent(api, 1)["messages"][1]["content"]] == ["tool_use"]
    api.assert_all_accepted()


@pytest.mark.parametrize(
    ("stop", "status", "reason"),
    [
        ("stop_sequence", tk.TurnStatus.COMPLETED, ""),
        (None, tk.TurnStatus.COMPLETED, ""),
        ("brand_new_stop", tk.TurnStatus.COMPLETED, "unknown_stop_reason"),
        ("model_context_window_exceeded", tk.TurnStatus.TRUNCATED, "model_context_window_exceeded"),
    ],
)
async def test_other_stops_with_text(make: Make, stop: str | None, status: tk.TurnStatus, reason: str) -> None:
    api = MessagesAPI(script(reply("so far", stop_reason=stop)))
    found = await make(api).run("go")
    assert (found.status, found.reason, found.text, found.stop_reason) == (status, reason, "so far", stop)


async def test_calls_under_an_unknown_stop_reason_are_not_run(make: Make) -> None:
    counter = Counter()
    api = MessagesAPI(script(reply(call("lookup"), stop_reason="brand_new_stop"), "ok"))
    async with make(api, tools=[counter.tool()]).open() as keeper:
        conversation = await keeper.conversation("c")
        found = await conversation.send("go")
        assert (found.status, found.reason, counter.calls) == (tk.TurnStatus.FAILED, "unknown_stop_reason", [])
        assert (await conversation.send("again")).text == "ok"
    api.assert_all_accepted()


async def test_thinking_goes_back_block_by_block_as_it_came(make: Make) -> None:
    """Report A31-thinking-signature-lost-between-rounds.

    https://github.com/WordPress/ai-provider-for-anthropic/issues/30
    """
    blocks: list[Any] = [
        {"type": "thinking", "thinking": "", "signature": "c2ln+/=="},
        {"type": "redacted_thinking", "data": "AAA="},
        {"type": "tool_use", "id": "toolu_1", "name": "lookup", "input": {"key": "a"}},
    ]
    api = MessagesAPI(script(reply(*blocks), "ok"))
    agent = make(api, tools=[Counter().tool()], model="claude-opus-5", thinking={"type": "adaptive"})
    assert (await agent.run("go")).text == "ok"
    assert sent(api, 1)["messages"][-2]["content"] == blocks
    api.assert_all_accepted()


async def test_unknown_blocks_survive_and_go_back(make: Make) -> None:
    odd = {"type": "hologram", "layers": [{"z": 1.5, "a": "青"}]}
    api = MessagesAPI(script(reply(odd, call("lookup")), "ok"), strict=False)
    assert (await make(api, tools=[Counter().tool()]).run("go")).text == "ok"
    assert sent(api, 1)["messages"][1]["content"][0] == odd


async def test_calls_of_a_reply_without_a_stop_reason_are_not_run(make: Make) -> None:
    """Nothing says that the reply is whole: it is asked for once more, then the turn fails."""
    counter = Counter()
    unsaid = reply("Сейчас.", call("lookup", {"key": "1"}), stop_reason=None)
    api = MessagesAPI(script(unsaid, reply(call("lookup", {"key": "2"})), "Done."))
    found = await make(api, tools=[counter.tool()]).run("go")
    assert (found.text, found.status, counter.calls) == ("Done.", tk.TurnStatus.COMPLETED, [{"key": "2"}])
    assert "Сейчас." not in str(found.messages)

    counter = Counter()
    api = MessagesAPI(script(unsaid, unsaid, "never asked for"))
    found = await make(api, tools=[counter.tool()]).run("go")
    assert (found.status, found.reason, counter.calls) == (tk.TurnStatus.FAILED, "no_stop_reason", [])
    assert len(api.requests) == 2
    assert [message["role"] for message in found.messages] == ["user"]


@pytest.mark.parametrize(
    "events",
    [
        pytest.param([("message_delta", {"delta": {"stop_reason": "max_tokens"}})], id="changed stop reason"),
        pytest.param([("content_block_start", {"index": 0, "content_block": {"type": "text"}})], id="reused index"),
    ],
)
async def test_calls_of_a_stream_that_contradicts_itself_are_not_run(events: list[tuple[str, dict[str, Any]]]) -> None:
    counter = Counter()
    whole: list[tuple[str, dict[str, Any]]] = [
        ("message_start", {"message": {"role": "assistant", "content": [], "usage": {}}}),
        (
            "content_block_start",
            {"index": 0, "content_block": {"type": "tool_use", "id": "toolu_1", "name": "lookup", "input": {}}},
        ),
        ("content_block_stop", {"index": 0}),
        *events,
        ("message_delta", {"delta": {"stop_reason": "tool_use"}, "usage": {}}),
        ("message_stop", {}),
    ]
    body = "".join(f"event: {kind}\ndata: {json.dumps({'type': kind} | data)}\n\n" for kind, data in whole).encode()

    def handle(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, content=body, headers={"content-type": "text/event-stream"})

    http = httpx2.AsyncClient(transport=httpx2.MockTransport(handle))
    async with anthropic.AsyncAnthropic(api_key="none", base_url="http://x.test", http_client=http) as sdk:
        with pytest.raises(tk.APIError) as raised:
            await agent_over(sdk, tools=[counter.tool()]).run("go")
    assert raised.value.kind == "malformed_reply"
    assert counter.calls == []
