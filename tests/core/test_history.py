"""The message list as a projection of the events."""

from __future__ import annotations

import json
from typing import Any

from turnkeeper.core.events import (
    CallFinished,
    CallRejected,
    CallRequest,
    ChoiceGuided,
    Event,
    MessagesImported,
    ReplyReceived,
    TurnStarted,
)
from turnkeeper.core.history import History


def said(text: str | list[dict[str, Any]]) -> TurnStarted:
    return TurnStarted(content=json.dumps(text, ensure_ascii=False))


def reply(*blocks: Any, kept: bool = True, calls: tuple[CallRequest, ...] | None = None) -> ReplyReceived:
    raw = tuple(block if isinstance(block, str) else json.dumps(block, ensure_ascii=False) for block in blocks)
    found = tuple(
        CallRequest(id=block["id"], name=block["name"], index=index)
        for index, block in enumerate(map(json.loads, raw))
        if block["type"] == "tool_use"
    )
    return ReplyReceived(
        number=1,
        blocks=raw,
        stop_reason="tool_use",
        usage={},
        action="run_calls",
        kept=kept,
        calls=found if calls is None else calls,
    )


def result(call_id: str, content: Any = "ok", *, is_error: bool = False) -> CallFinished:
    return CallFinished(call_id=call_id, state="succeeded", content=json.dumps(content), is_error=is_error)


def call(call_id: str, name: str = "f", **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": given}


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


def answer(call_id: str, content: Any = "ok", *, is_error: bool = False) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": call_id, "content": content}
    return block | ({"is_error": True} if is_error else {})


def messages(*events: Event) -> list[dict[str, Any]]:
    return History(events).messages()


def test_results_of_a_reply_stand_in_one_user_message_in_the_models_order_whatever_finished_first() -> None:
    """Report A05-parallel-results-one-message.

    https://github.com/MoonshotAI/kosong/issues/45
    """
    ids = [f"toolu_{n}" for n in range(1, 6)]
    asked = reply(*(call(one) for one in ids))
    done = [result(f"toolu_{n}", f"p{n}") for n in (5, 3, 1, 2, 4)]
    found = messages(said("read all five"), asked, *done)
    assert len(found) == 3
    assert found[2] == {"role": "user", "content": [answer(f"toolu_{n}", f"p{n}") for n in range(1, 6)]}


def test_nothing_is_shown_of_results_until_all_are_there() -> None:
    history = History([said("go"), reply(call("a"), call("b")), result("b")])
    assert history.last_role == "assistant"
    history.apply(CallRejected(call_id="a", reason="bad_arguments", content='"нет"'))
    assert history.messages()[-1]["content"] == [answer("a", "нет", is_error=True), answer("b")]


def test_the_next_message_joins_the_results_behind_them() -> None:
    """Report A01-interrupt-orphans-tool-use.

    https://github.com/anthropics/claude-code/issues/2261
    """
    found = messages(said("find k1"), reply(call("a")), result("a", is_error=True), said("never mind, use k2"))
    assert [message["role"] for message in found] == ["user", "assistant", "user"]
    assert found[2]["content"] == [answer("a", is_error=True), text("never mind, use k2")]


def test_blocks_go_back_to_the_byte() -> None:
    raw = '{"type":"tool_use","id":"a","name":"f","input":{"z" : 1.50, "a":"é"}}'
    thinking = '{"type":"thinking","thinking":"","signature":"c2ln+/=="}'
    history = History([said("go"), reply(thinking, raw)])
    assert history.messages_json().endswith(f'"content":[{thinking},{raw}]}}'.encode())


def test_what_was_sent_once_is_a_prefix_of_what_is_sent_later() -> None:
    history = History([said("go"), reply(call("a")), result("a")])
    before = history.messages_json()
    for event in (reply(text("x"), call("b")), result("b"), reply(text("done"), calls=()), said("again")):
        history.apply(event)
        after = history.messages_json()
        assert after.startswith(before[: before.rindex(b"]}")])
        before = after


def test_blank_text_of_the_model_is_left_out_and_the_rest_stays() -> None:
    """Report A33-whitespace-only-text-from-model.

    https://github.com/nick1udwig/kibitz/issues/78
    """
    assert messages(said("go"), reply(text("\n\n"), call("a")))[1]["content"] == [call("a")]


def test_a_reply_that_is_not_kept_leaves_no_trace() -> None:
    history = History([said("go"), reply(text("half"), kept=False), said("again")])
    assert history.messages() == [{"role": "user", "content": [text("go"), text("again")]}]


def test_a_replaced_id_stands_in_the_call_and_in_its_result() -> None:
    """Report A29-duplicate-or-empty-tool-use-ids.

    https://github.com/ducks/claux/issues/40
    """
    first = reply(call("call_0", n=1))
    history = History([said("add"), first, result("call_0")])
    made = history.fresh_id("call_0", reply=2, index=1)
    assert made == "toolu_tk_2_1"
    assert history.fresh_id("", reply=3, index=0) == "toolu_tk_3_0"
    assert history.fresh_id("call_1", reply=3, index=0) == "call_1"
    history.apply(
        reply(text("x"), call("call_0", n=2), calls=(CallRequest(id=made, name="f", index=1, given_id="call_0"),))
    )
    history.apply(result(made, "3"))
    found = history.messages()
    assert found[3]["content"][1] == call(made, n=2)
    assert found[4]["content"] == [answer(made, "3")]


def test_a_paused_reply_and_its_continuation_are_one_message() -> None:
    """Report A13-pause-turn-is-not-the-end.

    https://github.com/anthropics/anthropic-sdk-python/pull/1648
    """
    server = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "q"}}
    came = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
    paused = [said("q?"), reply(text("Searching"), server, calls=())]
    assert messages(*paused)[1]["content"] == [text("Searching"), server]
    found = messages(*paused, reply(came, text("Answer."), calls=()))
    assert found[1]["content"] == [text("Searching"), server, came, text("Answer.")]


def test_a_server_call_that_was_never_answered_does_not_stand_before_a_users_words() -> None:
    server = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    paused = [said("q?"), reply(text("Searching"), server, calls=()), said("stop")]
    assert messages(*paused) == [
        {"role": "user", "content": [text("q?")]},
        {"role": "assistant", "content": [text("Searching")]},
        {"role": "user", "content": [text("stop")]},
    ]
    only = [said("q?"), reply(server, calls=()), said("stop")]
    assert messages(*only) == [{"role": "user", "content": [text("q?"), text("stop")]}]
    mixed = [said("q?"), reply(server, call("a")), result("a"), said("stop")]
    assert messages(*mixed)[1]["content"] == [call("a")]


def test_imported_messages_stand_as_they_were_written() -> None:
    given = [
        '{"content": "привет" , "role":"user"}',
        '{"role":"assistant","content":[{"type":"text","text":"да","citations":null}]}',
    ]
    history = History([MessagesImported(messages=tuple(given)), said("ещё")])
    assert history.messages_json().startswith(",".join(given).encode())
    assert not history.tools_used
    assert len(history) == 3


def test_an_imported_last_message_is_joined_without_loss() -> None:
    history = History([MessagesImported(messages=('{"role":"user","content":"a"}',)), said("b")])
    assert history.messages() == [{"role": "user", "content": [text("a"), text("b")]}]


def test_ids_and_use_of_tools_are_known() -> None:
    given = json.dumps({"role": "assistant", "content": [call("a")]})
    history = History([MessagesImported(messages=('{"role":"user","content":"x"}', given))])
    assert history.tools_used
    assert history.fresh_id("a", reply=1, index=0) == "toolu_tk_1_0"


def guided(value: str, role: str = "system") -> ChoiceGuided:
    return ChoiceGuided(role=role, content=json.dumps([text(value)], ensure_ascii=False), unmet=0)


def test_a_choice_said_in_words_stands_as_it_was_written_where_it_was_written() -> None:
    history = History([said("привет"), guided("Вызови `f`"), reply(call("a")), result("a")])
    expected = (
        '{"role":"user","content":[{"type":"text","text":"привет"}]},'
        '{"role":"system","content":[{"type": "text", "text": "Вызови `f`"}]},'
    )
    assert history.messages_json().decode().startswith(expected)
    before = history.messages_json()
    history.apply(reply(text("done")))
    history.apply(said("next"))
    assert history.messages_json().startswith(before)


def test_in_the_users_turn_it_joins_the_users_words_and_a_reminder_joins_both() -> None:
    found = messages(said("go"), guided("call f", "user"), guided("call f now", "user"), reply(call("a")))
    assert found[0] == {"role": "user", "content": [text("go"), text("call f"), text("call f now")]}
    assert [message["role"] for message in found] == ["user", "assistant"]


def test_for_a_model_without_system_messages_what_another_was_told_in_one_is_the_users() -> None:
    own = MessagesImported(messages=('{"role":"user","content":"go"}', '{"role": "system", "content": "Be brief."}'))
    history = History([own, TurnStarted(content=None), reply(text("ok")), said("go"), guided("call f")])
    for _ in range(2):
        roles = [message["role"] for message in json.loads(b"[" + history.messages_json(system_role=False) + b"]")]
        assert roles[:5] == ["user", "system", "assistant", "user", "user"]
        assert [message["role"] for message in history.messages()][:5] == [*roles[:4], "system"]
        history.apply(reply(text("done")))


def test_what_no_kept_reply_has_followed_leaves_the_history_with_the_next_message() -> None:
    for role in ("system", "user"):
        dropped = reply(text("I won't"), kept=False)
        history = History([said("go"), guided("call f", role), dropped, guided("call f now", role)])
        assert history.waits_for_model
        history.apply(said("и ещё"))
        assert history.messages() == [{"role": "user", "content": [text("go"), text("и ещё")]}]


def test_nor_does_it_stand_before_messages_that_come_from_elsewhere() -> None:
    for role in ("user", "assistant"):
        other = MessagesImported(messages=(f'{{"role":"{role}","content":"I take over."}}',))
        found = messages(said("go"), guided("call f"), reply(text("no"), kept=False), other)
        assert [message["role"] for message in found] == ["user", role]


def test_a_system_message_of_the_callers_own_stays_when_what_joined_it_goes() -> None:
    own = '{"role":"system","content":"Be brief."}'
    imported = MessagesImported(messages=('{"role":"user","content":"go"}', own))
    history = History([imported, TurnStarted(content=None), guided("call f")])
    assert [len(message["content"]) for message in history.messages()] == [2, 2]
    history.apply(TurnStarted(content=None))
    assert history.messages()[1] == {"role": "system", "content": [text("Be brief.")]}
