"""Compatible endpoints: each deviates in its own way, and none of them judges."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.simulator.asking import REQUEST, ask, ask_raw, events
from turnkeeper.errors import InputError
from turnkeeper.simulator import IMITATIONS
from turnkeeper.testing import MessagesAPI, call, reply

CALLS = reply("Ich sehe nach.", call("lookup", {"a": 1}), call("lookup", {"b": 2}))


@pytest.mark.parametrize("name", sorted(IMITATIONS))
def test_nothing_is_judged_and_neither_key_nor_version_asked_for(name: str) -> None:
    api = MessagesAPI("ok", imitation=name)
    body = {**REQUEST, "model": "llama-4", "messages": [{"role": "assistant", "content": ""}], "thread": {"type": "x"}}
    assert ask_raw(api, json.dumps(body).encode(), headers={}).json["content"][-1]["text"] == "ok"


@pytest.mark.parametrize("name", sorted(IMITATIONS))
@pytest.mark.parametrize(
    ("reason", "known"),
    [
        ("pause_turn", "end_turn"),
        ("refusal", "end_turn"),
        ("stop_sequence", "end_turn"),
        ("model_context_window_exceeded", "max_tokens"),
        ("max_tokens", "max_tokens"),
        ("end_turn", "end_turn"),
        (None, None),
    ],
)
def test_only_three_stop_reasons_are_known(name: str, reason: str | None, known: str | None) -> None:
    api = MessagesAPI([reply("x", stop_reason=reason)] * 2, imitation=name)
    assert ask(api).json["stop_reason"] == known
    assert next(data["delta"]["stop_reason"] for kind, data in read(api) if kind == "message_delta") == known


def read(api: MessagesAPI) -> list[tuple[str, Any]]:
    """The events of a streamed reply, a `[DONE]` line left out."""
    raw = ask(api, stream=True).raw.decode()
    parts = [part.split("\n") for part in raw.split("\n\n")[:-1] if part != "data: [DONE]"]
    return [(name.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for name, data in parts]


def test_ollama_has_no_count_tokens_and_passes_over_tool_choice() -> None:
    seen: list[Any] = []

    def answer(request: dict[str, Any]) -> str:
        seen.append(request)
        return "ok"

    api = MessagesAPI(answer, imitation="ollama")
    assert ask(api, path="/v1/messages/count_tokens").status == 404
    assert ask(api, tool_choice={"type": "any"}, metadata={}).status == 200
    assert set(seen[0]) == {"model", "max_tokens", "messages"}
    assert api.requests[0].body is not None
    assert api.requests[0].body["tool_choice"] == {"type": "any"}


def test_llama_cpp_states_no_usage_worth_reading() -> None:
    message = ask(MessagesAPI([CALLS], imitation="llama.cpp")).json
    assert message["usage"] == {"input_tokens": 0, "output_tokens": 0}
    assert message["id"] == "chatcmpl_000001"
    assert "timings" in message
    assert [block["id"] for block in message["content"][1:]] == ["call_000001", "call_000002"]


def test_vllm_counts_its_ids_from_zero_in_every_reply() -> None:
    api = MessagesAPI([CALLS, CALLS], imitation="vllm")
    first, second = ask(api).json, ask(api).json
    ids = [block["id"] for block in first["content"][1:]]
    assert ids == ["functions.lookup:0", "functions.lookup:1"]
    assert [block["id"] for block in second["content"][1:]] == ids


def test_vllm_ends_its_streams_with_a_done_line() -> None:
    assert ask(MessagesAPI("x", imitation="vllm"), stream=True).raw.endswith(b"data: [DONE]\n\n")


def test_litellm_streams_calls_that_end_the_turn_and_begins_with_empty_text() -> None:
    api = MessagesAPI([CALLS, CALLS], imitation="litellm")
    streamed, plain = events(api), ask(api).json
    assert next(data["delta"]["stop_reason"] for kind, data in streamed if kind == "message_delta") == "end_turn"
    assert plain["stop_reason"] == "tool_use"
    assert [block["type"] for block in plain["content"]] == ["text", "text", "tool_use", "tool_use"]
    assert plain["content"][0] == {"type": "text", "text": ""}
    assert "usage" not in plain
    assert not any("usage" in data for _, data in streamed)
    assert [block["id"] for block in plain["content"][2:]] == ["call_0", "call_1"]


def test_the_script_s_own_usage_and_ids_win() -> None:
    entry = reply(call("f", id="mine"), usage={"input_tokens": 3, "output_tokens": 4})
    message = ask(MessagesAPI([entry], imitation="litellm")).json
    assert message["usage"] == {"input_tokens": 3, "output_tokens": 4}
    assert message["content"][1]["id"] == "mine"


TOOL = {"type": "tool", "name": "lookup"}
ANY = {"type": "any"}


@pytest.mark.parametrize(
    ("name", "choice", "seen"),
    [
        ("ollama", TOOL, None),
        ("ollama", ANY, None),
        ("ollama", {"type": "none"}, None),
        ("llama.cpp", TOOL, ANY),
        ("llama.cpp", ANY, ANY),
        ("llama.cpp", {"type": "none"}, None),
        ("vllm", TOOL, None),
        ("vllm", ANY, ANY),
        ("litellm", TOOL, TOOL),
        ("litellm", ANY, ANY),
    ],
)
def test_of_tool_choice_reaches_the_model_what_the_endpoint_makes_of_it(name: str, choice: Any, seen: Any) -> None:
    reached: list[Any] = []

    def answer(request: dict[str, Any]) -> str:
        reached.append(request.get("tool_choice"))
        return "ok"

    assert ask(MessagesAPI(answer, imitation=name), tool_choice=choice).status == 200
    assert reached == [seen]


@pytest.mark.parametrize(
    ("name", "status", "says"),
    [("vllm", 400, "('body', 'tool_choice', 'type')"), ("litellm", 500, "submitted - {'type': 'none'}")],
)
def test_none_is_refused_where_reports_say_so(name: str, status: int, says: str) -> None:
    api = MessagesAPI("never asked for", imitation=name)
    answer = ask(api, tool_choice={"type": "none"})
    assert (answer.status, says in answer.json["error"]["message"]) == (status, True)
    assert api.unused_replies == 1
    assert [record.refusal.rule for record in api.refusals if record.refusal] == [f"imitation.{name}"]


def test_an_unknown_imitation_is_refused() -> None:
    with pytest.raises(InputError, match=r"imitation: 'gpt' is not known; one of ollama, llama\.cpp, vllm, litellm"):
        MessagesAPI("x", imitation="gpt")
