"""The synchronous doors, the lesson's function, settings."""

from __future__ import annotations

import asyncio
import contextvars
import copy
import logging
import threading
from pathlib import Path
from typing import Any

import pytest

import turnkeeper as tk
from tests.driver.conftest import agent_over, sent
from turnkeeper.driver.settings import Settings
from turnkeeper.errors import ConfigurationError, HistoryError, InputError
from turnkeeper.testing import MessagesAPI, call, reply, script, text

OPTIONS: dict[str, Any] = {"model": "claude-opus-4-8"}


def get_current_datetime(timezone: str = "UTC") -> str:
    """Current date and time.

    Args:
        timezone: IANA name, such as "Europe/Berlin".
    """
    return f"2026-11-30T12:00 {timezone}"


def berlin() -> MessagesAPI:
    return MessagesAPI(script(reply(call("get_current_datetime", {"timezone": "Europe/Berlin"})), "It is noon."))


def test_the_lessons_function_takes_a_list_and_gives_a_list_with_the_history_first() -> None:
    given: list[dict[str, Any]] = [
        {"role": "user", "content": "Привет"},
        {"role": "assistant", "content": [{"type": "text", "text": "Hi!"}]},
        {"role": "user", "content": "What time is it in Berlin?"},
    ]
    before = copy.deepcopy(given)
    api = berlin()
    messages = tk.run_conversation(given, tools=[get_current_datetime], client=api, **OPTIONS)
    assert given == before
    assert messages[:3] == given
    assert all(new is old for new, old in zip(messages[:3], given, strict=True))
    assert [message["role"] for message in messages] == ["user", "assistant", "user", "assistant", "user", "assistant"]
    assert messages[4]["content"][0]["content"] == "2026-11-30T12:00 Europe/Berlin"
    assert messages[5]["content"] == [text("It is noon.")]
    assert sent(api, 0)["messages"] == given
    tk.run_conversation(
        [*messages, {"role": "user", "content": "thanks"}],
        tools=[get_current_datetime],
        client=MessagesAPI(script("bye")),
        **OPTIONS,
    )
    api.assert_all_accepted()


def test_the_lessons_function_runs_calls_that_were_left_open() -> None:
    given: list[dict[str, Any]] = [
        {"role": "user", "content": "time?"},
        {"role": "assistant", "content": [call("get_current_datetime", id="toolu_1")]},
    ]
    api = MessagesAPI(script("Noon."))
    messages = tk.run_conversation(given, tools=[get_current_datetime], client=api, accept=["calls"], **OPTIONS)
    assert messages[:2] == given
    assert messages[2]["content"][0]["tool_use_id"] == "toolu_1"
    assert messages[3]["content"] == [text("Noon.")]
    api.assert_all_accepted()


def test_the_lessons_function_refuses_a_bad_list_and_logs_an_incomplete_turn(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(HistoryError, match="the list is empty"):
        tk.run_conversation([], client=MessagesAPI(script("x")), **OPTIONS)
    api = MessagesAPI(script(reply("half", stop_reason="refusal")))
    given = [{"role": "user", "content": "x"}]
    with caplog.at_level(logging.WARNING, logger="turnkeeper"):
        assert tk.run_conversation(given, client=api, **OPTIONS) == given
    assert "the turn ended refused (refusal)" in caplog.text


def test_run_sync_works_and_sees_the_callers_context() -> None:
    tenant: contextvars.ContextVar[str] = contextvars.ContextVar("tenant", default="nobody")

    def who() -> str:
        """Who?"""
        return tenant.get()

    tenant.set("acme")
    found = agent_over(MessagesAPI(script(reply(call("who")), "ok")), tools=[who]).run_sync("go")
    assert (found.text, found.calls[0].content, str(found)) == ("ok", "acme", "ok")


def test_run_sync_works_inside_a_running_event_loop() -> None:
    async def notebook() -> str:
        return agent_over(berlin(), tools=[get_current_datetime]).run_sync("time?").text

    assert asyncio.run(notebook()) == "It is noon."


def test_one_agent_serves_many_threads_and_loops() -> None:
    agent = agent_over(MessagesAPI(lambda request: reply(request["messages"][0]["content"][0]["text"])))
    found: list[str] = []
    threads = [threading.Thread(target=lambda n=n: found.append(agent.run_sync(str(n)).text)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [str(n) for n in range(8)]
    assert [asyncio.run(_once(agent, str(n))) for n in range(2)] == ["0", "1"]


async def _once(agent: tk.Agent, prompt: str) -> str:
    return (await agent.run(prompt)).text


def test_an_interrupt_in_a_sync_call_is_raised_and_the_loop_lives_on() -> None:
    def interrupt() -> str:
        """As if Ctrl-C were pressed."""
        raise KeyboardInterrupt

    agent = agent_over(MessagesAPI(script(reply(call("interrupt")))), tools=[interrupt])
    with pytest.raises(KeyboardInterrupt):
        agent.run_sync("go")
    assert agent_over(MessagesAPI(script("alive"))).run_sync("still there?").text == "alive"


def test_an_empty_prompt_is_refused() -> None:
    with pytest.raises(InputError, match="empty"):
        agent_over(MessagesAPI(script("x"))).run_sync("  ")


def test_without_a_key_the_library_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(ConfigurationError, match=r"no API key: set ANTHROPIC_API_KEY.*MessagesAPI"):
        tk.Agent().run_sync("hi")


def test_a_client_that_is_not_one_is_refused() -> None:
    import anthropic

    with pytest.raises(ConfigurationError, match="asynchronous client"):
        tk.Agent(client=anthropic.Anthropic(api_key="k")).run_sync("hi")


def test_system_tools_and_extras_are_sent_as_given() -> None:
    api = MessagesAPI(script("ok"))
    system = [{"type": "text", "text": "Отвечай кратко.", "cache_control": {"type": "ephemeral"}}]
    agent_over(api, system=system, extra={"metadata": {"user_id": "u1"}, "stop_sequences": ["КОНЕЦ"]}).run_sync("hi")
    body = sent(api, 0)
    assert (body["system"], body["metadata"], body["stop_sequences"]) == (system, {"user_id": "u1"}, ["КОНЕЦ"])
    assert "КОНЕЦ".encode() in api.requests[0].raw


def test_settings_come_from_arguments_then_the_environment_then_the_file_then_defaults(tmp_path: Path) -> None:
    (tmp_path / "turnkeeper.toml").write_text('model = "from-file"\nmax_tokens = 7\njournal = "sqlite:///a.db"\n')
    trust = {"TURNKEEPER_TRUST_FILE": str(tmp_path)}
    environ = {"ANTHROPIC_MODEL": "from-env", "TURNKEEPER_MAX_REQUESTS": "9", **trust}
    settings = Settings(environ=environ, folder=tmp_path)
    assert settings.find("model", "given") == "given"
    assert settings.find("model") == "from-env"
    assert settings.find("max_requests") == 9
    assert settings.find("journal") == "sqlite:///a.db"
    assert Settings(environ={}, folder=tmp_path).find("model") == "from-file"
    assert Settings(environ={}, folder=tmp_path / "none").find("model") == "claude-opus-5-5"
    assert Settings(environ={}, folder=tmp_path).find("system") is None


@pytest.mark.parametrize(
    ("content", "says"),
    [("model = ", "can't be read"), ("modle = 'x'", "unknown setting 'modle'; known are"), ("\xff", "can't be read")],
)
def test_a_settings_file_that_can_not_be_used_is_named(tmp_path: Path, content: str, says: str) -> None:
    (tmp_path / "turnkeeper.toml").write_bytes(content.encode("latin-1"))
    with pytest.raises(ConfigurationError, match=says):
        Settings(environ={}, folder=tmp_path).find("model")


def test_a_number_that_is_none_is_named() -> None:
    with pytest.raises(ConfigurationError, match="TURNKEEPER_BUDGET must be a number, not 'viel'"):
        Settings(environ={"TURNKEEPER_BUDGET": "viel"}).find("budget")


def test_callers_cache_marks_stay_and_there_are_never_more_than_four() -> None:
    """Report A19-fifth-cache-breakpoint.

    https://github.com/BlockRunAI/Franklin/issues/73
    """
    mark = {"cache_control": {"type": "ephemeral"}}
    system = [{"type": "text", "text": "a", **mark}, {"type": "text", "text": "b", **mark}]
    api = MessagesAPI(script(*[reply(call("get_current_datetime")) for _ in range(5)], "ok", "again"))
    agent = agent_over(api, system=system, tools=[get_current_datetime])

    async def talk() -> None:
        async with agent.open() as keeper:
            conversation = await keeper.conversation("c")
            await conversation.send("go")
            await conversation.send("more")

    asyncio.run(talk())
    assert max(request.raw.count(b'"cache_control"') for request in api.requests) == 4
    assert all(request.body is not None and request.body["system"] == system for request in api.requests)
    api.assert_all_accepted()
