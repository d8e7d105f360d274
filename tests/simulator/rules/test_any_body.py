"""No body makes the rules raise, and long histories are judged fast."""

from __future__ import annotations

import copy
import time
from collections.abc import Iterator
from typing import Any, Literal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.simulator.rules.asked import NEW, OLD, ask, assistant, call, image, result, thinking, tool, user, web_search
from tests.simulator.rules.cases import CASES
from turnkeeper.models import catalogue, find
from turnkeeper.simulator.rules import RULES, Fault, RememberedReplies, judge, verify_messages

RULE_IDS = {rule.id for rule in RULES}
MODELS = st.sampled_from([*catalogue(), find("модель-ИИ")])
TEXT = st.text(st.characters(exclude_categories=())) | st.sampled_from(["", " ", "\ud800", "user", "toolu_1", "x"])
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([10**400, -1, 0, float("inf"), float("-inf"), float("nan")])
    | st.floats()
    | TEXT
)


def _words(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield str(key)
            yield from _words(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _words(inner)
    elif isinstance(value, str) and len(value) <= 40:
        yield value


KNOWN_WORDS = st.sampled_from(sorted({word for case in CASES[:400] for word in _words(case.request)}, key=repr)[:1500])
JSON = st.recursive(
    SCALARS | KNOWN_WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KNOWN_WORDS | TEXT, inner, max_size=4),
    max_leaves=25,
)
REQUESTS = st.sampled_from([case.request for case in CASES if len(repr(case.request)) < 6_000])


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Every container and key in it, so that the member can be replaced."""
    found: list[tuple[Any, Any]] = []
    stack = [value]
    while stack:
        holder = stack.pop()
        keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
        for key in keys:
            found.append((holder, key))
            if isinstance(holder[key], dict | list):
                stack.append(holder[key])
    return found


@st.composite
def damaged_requests(draw: st.DrawFn) -> Any:
    """A request of the cases, with up to three members replaced, dropped or copied elsewhere."""
    request = copy.deepcopy(draw(REQUESTS))
    for _ in range(draw(st.integers(1, 3))):
        places = _places(request) if isinstance(request, dict | list) else []
        if not places:
            break
        holder, key = draw(st.sampled_from(places))
        change = draw(st.sampled_from(["replace", "drop", "copy"]))
        if change == "replace":
            holder[key] = draw(JSON)
        elif change == "drop":
            del holder[key]
        else:
            other, other_key = draw(st.sampled_from(places))
            if isinstance(other, dict) and other_key in other:
                holder[key] = copy.deepcopy(other[other_key])
    return request


def remembering() -> RememberedReplies:
    memory = RememberedReplies()
    memory.remember(
        ask(user("Где заказ?"), tools=[tool()]), [thinking("sig-1", "да"), call("a")], model="claude-opus-5-5"
    )
    return memory


def check(found: Any) -> None:
    assert isinstance(found, list)
    for fault in found:
        assert isinstance(fault, Fault)
        assert fault.rule in RULE_IDS
        assert isinstance(fault.path, str)
        assert fault.message
        assert fault.repair
        assert 400 <= fault.status < 500


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(JSON, MODELS, st.sampled_from([NEW, OLD, {}]), st.sampled_from(["messages", "count_tokens"]))
def test_any_json_is_judged(body: Any, model: Any, headers: Any, endpoint: Literal["messages", "count_tokens"]) -> None:
    check(judge(body, headers=headers, model=model, sent=remembering(), endpoint=endpoint, input_tokens=5))
    check(verify_messages(body))


@settings(max_examples=600, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(damaged_requests(), MODELS, st.sampled_from([NEW, OLD]))
def test_any_damaged_request_is_judged(body: Any, model: Any, headers: Any) -> None:
    check(judge(body, headers=headers, model=model, sent=remembering()))
    check(verify_messages(body, model=model))


@settings(max_examples=100, deadline=None)
@given(REQUESTS, MODELS)
def test_judging_changes_nothing_and_says_the_same_twice(request: Any, model: Any) -> None:
    before = copy.deepcopy(request)
    first = judge(request, headers=NEW, model=model, sent=remembering())
    assert repr(request) == repr(before)
    assert judge(request, headers=NEW, model=model, sent=remembering()) == first


@pytest.mark.parametrize("body", [None, True, 0, 1.5, "", "тело", [], [{}]], ids=repr)
def test_a_body_that_is_no_object_is_one_fault(body: Any) -> None:
    (fault,) = judge(body, headers=NEW, model=find("claude-opus-5-5"))
    assert (fault.path, fault.message) == ("body", "body: Input should be an object")


@pytest.mark.parametrize("member", ["messages", "tools", "system", "metadata", "модель"])
def test_nothing_after_the_nesting_reads_a_request_nested_without_end(member: str) -> None:
    endless: Any = 1
    for depth in range(100_000):
        endless = [endless] if depth % 2 else {"content": endless}
    request = ask(**{member: endless})
    (fault,) = judge(request, headers={}, model=find("модель"), sent=remembering())
    assert (fault.rule, fault.path) == ("request.nesting", member)
    assert [found.rule for found in verify_messages(request)] == ["request.nesting"]


def test_a_long_history_is_judged_in_time_that_grows_with_its_length() -> None:
    tools = [tool(), web_search()]
    history: list[dict[str, Any]] = [user([image(), {"type": "text", "text": "начни 🐻"}])]
    sent = RememberedReplies()
    for number in range(2_500):
        reply = [thinking(f"sig-{number}"), {"type": "text", "text": "Ищу дальше."}, call(f"c{number}")]
        if number % 50 == 0:
            sent.remember(ask(*history, tools=tools), reply, model="claude-opus-5-5")
        else:
            reply = reply[1:]
        history += [assistant(reply), user([result(f"c{number}", "в пути " * 20)])]
    started = time.perf_counter()
    found = judge(ask(*history, tools=tools), headers=NEW, model=find("claude-opus-5-5"), sent=sent)
    took = time.perf_counter() - started
    assert found == []
    assert took < 5
