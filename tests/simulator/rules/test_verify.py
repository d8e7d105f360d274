"""What `verify_messages` reports about a stored history: every fault, where it is and how to mend it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.simulator.rules.asked import ask, assistant, call, image, result, system, thinking, tool, user
from turnkeeper.models import Model, find
from turnkeeper.simulator.rules import RULES, verify_messages

BROKEN: list[dict[str, Any]] = [
    user("Где заказ 1024? 你好"),
    assistant([call("a"), call("b")]),
    user([{"type": "text", "text": "сначала текст"}, result("a")]),
    assistant([{"type": "text", "text": "  "}, call("a")]),
    user([result("a"), result("a"), result("чужой")]),
    assistant([{"type": "text", "text": "готово ", "cache_control": {"type": "ephemeral", "ttl": "2h"}}]),
]


def test_every_fault_of_a_bare_list_is_reported_with_path_and_repair() -> None:
    found = verify_messages(BROKEN)
    assert [(fault.rule, fault.path) for fault in found] == [
        ("request.messages", "messages.4.content.2.tool_result.tool_use_id"),
        ("request.messages", "messages.5.content.0.text.cache_control.ephemeral.ttl"),
        ("messages.text-not-blank", "messages.3.content.0"),
        ("messages.tool-use-ids-unique", "messages.3.content.1"),
        ("messages.tool-use-answered", "messages.1"),
        ("messages.tool-result-expected", "messages.4.content.2"),
        ("messages.single-result", "messages.4.content.1"),
    ]
    assert all(fault.repair.endswith((".", "}.")) and fault.status == 400 for fault in found)


def test_a_good_bare_list_may_end_with_either_role_and_needs_neither_model_nor_tools() -> None:
    history = [user(), assistant([thinking(), call("a")]), user([result("a")]), assistant("Он в пути. 🐻")]
    assert verify_messages(history) == []
    assert verify_messages(history[:3]) == []
    assert verify_messages(tuple(history)) != []
    assert verify_messages(json.loads(json.dumps(history))) == []


def test_tools_are_asked_for_only_where_tools_are_given() -> None:
    history = [user(), assistant([call("a")]), user([result("a")])]
    assert verify_messages(history) == []
    assert verify_messages(history, tools=[tool()]) == []
    assert [fault.rule for fault in verify_messages(history, tools=[])] == ["messages.tools-defined"]
    assert verify_messages(ask(*history)) == []
    assert [fault.rule for fault in verify_messages(ask(*history, tools=[]))] == ["messages.tools-defined"]


def test_given_tools_and_system_are_verified_too() -> None:
    found = verify_messages([user()], tools=[tool("найти заказ")], system=[{"type": "text", "text": " "}])
    assert [(fault.rule, fault.path) for fault in found] == [
        ("tools.name", "tools.0.custom.name"),
        ("messages.text-not-blank", "system.0"),
    ]


def test_a_stored_request_is_verified_with_its_model_and_all_its_members() -> None:
    ended = ask(user(), assistant("Он в пути"), model="claude-opus-5-5", tool_choice={"type": "any"}, tools=[tool()])
    assert [fault.rule for fault in verify_messages(ended)] == ["tool-choice.forced-supported", "prefill.supported"]
    assert verify_messages({**ended, "model": "claude-haiku-4-5"}) == []


@pytest.mark.parametrize("model", ["claude-opus-5-5", find("claude-opus-5-5"), "us.anthropic.claude-opus-5-5-v1:0"])
def test_the_model_may_be_named_or_given(model: Model | str) -> None:
    history = [user(), assistant([call("a")]), user([result("a")]), system("Отвечай кратко.")]
    older = verify_messages(history, model="claude-opus-4-6")
    assert [fault.rule for fault in older] == ["system-role.supported"]
    assert verify_messages(history, model=model) == []
    assert verify_messages(history) == []


def test_what_only_a_live_request_has_is_not_verified() -> None:
    assert verify_messages({"messages": [user()]}) == []
    assert verify_messages({"messages": [user()], "model": "модель-ИИ", "max_tokens": 10}) == []


@pytest.mark.parametrize(
    "given", [None, 5, "история", {}, {"messages": None}, {"messages": "x"}, [], [None], [[]], [{}]]
)
def test_what_is_no_history_is_reported_and_never_raised(given: Any) -> None:
    assert verify_messages(given) != []


def test_the_list_is_not_changed() -> None:
    before = json.dumps(BROKEN, ensure_ascii=False)
    verify_messages(BROKEN, tools=[tool()], model="claude-fable-5-1", system="привет")
    assert json.dumps(BROKEN, ensure_ascii=False) == before


def test_every_body_rule_can_be_read_by_its_scope() -> None:
    envelope = {rule.id for rule in RULES if rule.scope == "envelope"}
    assert {"request.version-header", "request.model-exists", "limits.request-size"} <= envelope
    assert not any(rule.startswith(("messages.", "tools.", "images.", "cache.")) for rule in envelope)


def test_an_image_inside_a_result_is_verified() -> None:
    history = [user(), assistant([call("a")]), user([result("a", [image("не картинка")])])]
    (fault,) = verify_messages(history)
    assert fault.path == "messages.2.content.0.content.0"
