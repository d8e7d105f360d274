"""Histories from public reports: what the API said about them, and that the mended history is taken."""

from __future__ import annotations

from typing import Any

import pytest

from tests.simulator.rules.asked import NEW, ask, assistant, call, result, thinking, tool, user, web_search
from turnkeeper.models import find
from turnkeeper.simulator.rules import Fault, RememberedReplies, SentReplies, judge


def faults(request: dict[str, Any], sent: SentReplies | None = None) -> list[Fault]:
    return judge(request, headers=NEW, model=find(request["model"]), sent=sent)


def rules(request: dict[str, Any], sent: SentReplies | None = None) -> list[str]:
    return [fault.rule for fault in faults(request, sent)]


def test_a_stopped_call_without_a_result_blocks_every_later_request() -> None:
    """Report A01-interrupt-orphans-tool-use.

    https://github.com/anthropics/claude-code/issues/2261
    """
    stopped = [user("смотри k1"), assistant([call("toolu_01")]), user("лучше k2")]
    (fault,) = faults(ask(*stopped, tools=[tool()]))
    assert fault.message == (
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_01. Each "
        "`tool_use` block must have a corresponding `tool_result` block in the next message."
    )
    text_first = [{"type": "text", "text": "лучше k2"}, result("toolu_01", "отменено", is_error=True)]
    assert rules(ask(*stopped[:2], user(text_first), tools=[tool()])) == ["messages.tool-use-answered"]
    assert rules(ask(*stopped[:2], user(text_first[::-1]), tools=[tool()])) == []


def test_a_tail_that_begins_with_a_result_has_lost_its_call() -> None:
    """Report A03-compaction-tail-starts-on-tool-result.

    https://github.com/vellum-ai/vellum-assistant/pull/31035
    """
    whole = [user(), assistant([call("a")]), user([result("a")]), assistant("готово"), user("дальше")]
    (fault,) = faults(ask(*whole[2:], tools=[tool()]))
    assert (fault.rule, fault.path) == ("messages.tool-result-expected", "messages.0.content.0")
    assert "unexpected `tool_use_id` found in `tool_result` blocks: a." in fault.message
    assert rules(ask(*whole, tools=[tool()])) == []
    assert rules(ask(user("кратко: заказ найден"), *whole[3:], tools=[tool()])) == []


def test_parallel_results_may_be_spread_over_neighbouring_user_messages_but_not_interrupted() -> None:
    """Report A05-parallel-results-one-message.

    https://github.com/MoonshotAI/kosong/issues/45
    """
    calls = [call(f"toolu_{number}") for number in range(5)]
    results = [user([result(f"toolu_{number}")]) for number in (4, 2, 0, 1, 3)]
    assert rules(ask(user("прочти пять"), assistant(calls), *results, tools=[tool()])) == []
    (fault,) = faults(
        ask(user("прочти пять"), assistant(calls), *results[:3], user("и?"), *results[3:], tools=[tool()])
    )
    assert fault.rule == "messages.tool-use-answered"
    assert "toolu_1, toolu_3." in fault.message


def test_a_tool_stop_without_calls_must_not_be_answered_by_an_empty_message() -> None:
    """Report A12-tool-use-stop-with-no-blocks.

    https://github.com/rescrv/claudius/pull/106
    """
    unmended = ask(user("go"), assistant("<calls x()>"), user([]), tools=[tool()])
    (fault,) = faults(unmended)
    assert (fault.rule, fault.path) == ("messages.non-empty-content", "messages.2")
    assert rules(ask(user("go"), assistant("<calls x()>"), user("дальше"), tools=[tool()])) == []


def test_a_deferred_server_tool_waits_beside_an_answered_call() -> None:
    """Report A17-server-and-client-tool-in-one-turn-deferred.

    https://github.com/vellum-ai/vellum-assistant/pull/40137
    """
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "погода"}}
    asked = [user("найди и скажи время"), assistant([search, call("toolu_1")])]
    tools = [tool(), web_search()]
    assert rules(ask(*asked, user([result("toolu_1")]), tools=tools)) == []
    invented = user([result("toolu_1"), result("srvtoolu_1", "прервано", is_error=True)])
    assert "messages.tool-result-expected" in rules(ask(*asked, invented, tools=tools))
    found = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
    reply = assistant([found, {"type": "text", "text": "готово"}])
    assert rules(ask(*asked, user([result("toolu_1")]), reply, user("ещё"), tools=tools)) == []


def test_a_fifth_cache_mark_stops_the_session() -> None:
    """Report A19-fifth-cache-breakpoint.

    https://github.com/BlockRunAI/Franklin/issues/73
    """
    mark = {"type": "ephemeral"}
    rounds: list[dict[str, Any]] = [user("начни")]
    for number in range(3):
        rounds += [assistant([call(str(number))]), user([result(str(number), cache_control=mark)])]
    marked: dict[str, Any] = {
        "system": [{"type": "text", "text": "Ты помощник.", "cache_control": mark}],
        "tools": [tool(cache_control=mark)],
    }
    (fault,) = faults(ask(*rounds, **marked))
    assert fault.message == "A maximum of 4 blocks with cache_control may be provided. Found 5."
    assert fault.path == "messages.6.content.0"
    assert rules(ask(*rounds, **{**marked, "tools": [tool()]})) == []


def test_two_calls_with_one_id_break_the_history() -> None:
    """Report A29-duplicate-or-empty-tool-use-ids.

    https://github.com/ducks/claux/issues/40
    """
    twice = ask(user(), assistant([call("call_0"), call("call_0")]), user([result("call_0")]), tools=[tool()])
    assert rules(twice)[0] == "messages.tool-use-ids-unique"
    later = ask(
        user(),
        assistant([call("call_0")]),
        user([result("call_0")]),
        assistant([call("call_0")]),
        user([result("call_0")]),
        tools=[tool()],
    )
    assert [(fault.rule, fault.path) for fault in faults(later)] == [
        ("messages.tool-use-ids-unique", "messages.3.content.0")
    ]


REPLY = [thinking("c2ln+/=="), {"type": "redacted_thinking", "data": "AAA="}, call("toolu_1")]


@pytest.mark.parametrize(
    ("sent_back", "broken"),
    [
        (REPLY, None),
        ([thinking(""), *REPLY[1:]], "thinking.signature-valid"),
        ([REPLY[0], REPLY[2]], "thinking.unchanged"),
        ([REPLY[1], REPLY[0], REPLY[2]], "thinking.unchanged"),
        ([REPLY[2]], "thinking.unchanged"),
    ],
    ids=["equal", "signature lost", "redacted block left out", "order changed", "thinking left out"],
)
def test_thinking_comes_back_whole_between_the_rounds_of_a_turn(sent_back: list[Any], broken: str | None) -> None:
    """Report A31-thinking-signature-lost-between-rounds.

    https://github.com/WordPress/ai-provider-for-anthropic/issues/30
    """
    sent = RememberedReplies()
    sent.remember(ask(user("go"), tools=[tool()]), REPLY, model="claude-opus-5-5")
    answered = ask(user("go"), assistant(sent_back), user([result("toolu_1")]), tools=[tool()])
    found = rules(answered, sent)
    assert found[:1] == ([broken] if broken else [])


@pytest.mark.parametrize("blank", ["", " ", "\n\n", "\t\r\n", "\u00a0\u2003"])
def test_blank_text_from_the_model_or_a_tool_is_refused_when_it_is_sent_back(blank: str) -> None:
    """Report A33-whitespace-only-text-from-model.

    https://github.com/nick1udwig/kibitz/issues/78
    """
    text = {"type": "text", "text": blank}
    beside_call = ask(user(), assistant([text, call()]), user([result()]), tools=[tool()])
    assert rules(beside_call)[0] in {"messages.text-not-empty", "messages.text-not-blank"}
    assert rules(ask(user(), assistant([call()]), user([result(content=[text])]), tools=[tool()])) != []
    assert rules(ask(user(blank))) != []
    assert rules(ask(user(), assistant([call()]), user([result(content=blank)]), tools=[tool()])) == []


@pytest.mark.parametrize("choice", [{"type": "any"}, {"type": "tool", "name": "extract"}])
def test_forced_tool_use_is_refused_by_models_that_think(choice: dict[str, Any]) -> None:
    """Report A39-forced-choice-rejected-by-model.

    https://github.com/langchain-ai/langchain-aws/pull/927
    """
    forced = ask(user("go"), tools=[tool("extract")], tool_choice=choice, max_tokens=4_000)
    assert rules(forced) == ["tool-choice.forced-supported"]
    manual = {"type": "enabled", "budget_tokens": 1_024}
    older = {**forced, "model": "claude-opus-4-6", "thinking": manual}
    assert rules(older) == ["tool-choice.forced-with-thinking"]
    assert rules({**older, "tool_choice": {"type": "auto"}}) == []
