"""`--tool-choice` at every door: kept where the model takes it, where it does not, and where it is passed over."""

from __future__ import annotations

import os
import signal
import threading
from typing import Any

import pytest

from tests.cli.conftest import Open, Run, Serve, Start
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


class Hanging:
    """Answers in text first, hangs in the second request, and after that does what it is told."""

    def __init__(self) -> None:
        self.hangs = threading.Event()
        self._free = threading.Event()
        self._count = 0

    def __call__(self, request: dict[str, Any]) -> Any:
        self._count += 1
        if self._count == 1:
            return DEAF
        if self._count == 2:
            self.hangs.set()
            self._free.wait(30)
        return "Warm." if request["messages"][-1]["content"][-1]["type"] == "tool_result" else WEATHER

    def free(self) -> None:
        self._free.set()


@pytest.mark.parametrize("model", ["claude-opus-5-5", "claude-opus-4-8"])
def test_killed_in_the_middle_the_turn_is_resumed_under_the_choice_it_began_with(
    run: Run, serve: Serve, start: Start, tools: str, model: str
) -> None:
    hanging = Hanging()
    url = serve(*[hanging] * 9)
    shared = ["--base-url", url, "-m", model, "-T", tools]
    process = start("ask", *shared, "--tool-choice", "weather", "--conversation", "c", "hello")
    assert hanging.hangs.wait(30)
    os.kill(process.command.pid, signal.SIGKILL)
    assert process.ended()[0] == -signal.SIGKILL
    hanging.free()
    done = run("resume", "c", *shared)
    assert (done.exit_code, done.stdout) == (0, "Warm.\n"), done.stderr
    bodies = [record.body or {} for record in serve.api.requests]
    begun, resumed = bodies[1], bodies[2]
    assert resumed["messages"] == begun["messages"]
    said = [block["text"] for message in resumed["messages"] for block in message["content"]][1:]
    assert (len(said), said[-1].count("call the tool `weather`")) == (1 if model == "claude-opus-4-8" else 2, 1)
    native = {"type": "tool", "name": "weather"} if model == "claude-opus-4-8" else None
    assert [body.get("tool_choice") for body in bodies] == [native, native, native, None]
    serve.api.assert_all_accepted()
