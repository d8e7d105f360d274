"""`--tool-choice` at every door: kept where the model takes it, where it does not, and where it is passed over."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cli.conftest import Open, Run, Serve
from turnkeeper.testing import call, reply

WEATHER = reply(call("weather", {"city": "Rome"}))
DEAF = "I'd rather chat."


@pytest.mark.parametrize("model", ["claude-opus-5-5", "claude-fable-5-1", "claude-opus-4-8", "claude-haiku-4-5"])
def test_ask_keeps_to_it_on_models_that_take_it_and_on_models_that_refuse_it(
    run: Run, serve: Serve, tools: str, model: str
) -> None:
    url = serve(DEAF, WEATHER, "Warm.")
    done = run("ask", "--base-url", url, "-m", model, "-T", tools, "--tool-choice", "weather", "hello")
    assert done.exit_code == 0
    assert '· weather(city="Rome")' in done.stderr
    serve.api.assert_all_accepted()


def test_a_choice_of_a_tool_that_is_not_there_is_wrong_usage(run: Run, serve: Serve, tools: str) -> None:
    done = run("ask", "--base-url", serve("x"), "-T", tools, "--tool-choice", "launch", "hello")
    assert (done.exit_code, "tool_choice 'launch' is not among the tools" in done.stderr) == (2, True)
    assert serve.api.requests == []


def test_chat_says_what_was_not_kept_and_goes_on_with_the_next_message(serve: Serve, screen: Open, tools: str) -> None:
    url = serve(DEAF, DEAF, DEAF, WEATHER, "Warm.")
    chat = screen("chat", "--base-url", url, "-m", "claude-opus-5-5", "-T", tools, "--tool-choice", "any", columns=200)
    chat.prompt()
    shown = chat.say("hello")
    assert "turnkeeper: tool_choice 'any' was not kept in 3 replies; the last one was text" in shown
    assert "Warm." in chat.say("and now?")
    assert '· weather(city="Rome")' in chat.shown()


@pytest.mark.parametrize("choice", ["get_user_info", "any"])
def test_the_desk_of_the_practice_model_keeps_to_it_too(run: Run, choice: str) -> None:
    text = "Hello! My email is john@gmail.com"
    done = run("desk", "--as", "staff", "--tool-choice", choice, input=text)
    assert done.exit_code == 0, done.stderr
    assert "takes no forced choice" in done.stderr
    called: list[Any] = [line for line in done.stderr.splitlines() if line.startswith("  · ")]
    assert len(called) == 1


def test_none_at_the_desk_calls_nothing(run: Run) -> None:
    done = run("desk", "--as", "staff", "--tool-choice", "none", input="Cancel order 13579")
    assert done.exit_code == 0, done.stderr
    assert "  · " not in done.stderr
