"""Which endpoint answers, and what compatible endpoints do otherwise.

Deviations: Ollama's docs/api/anthropic-compatibility, ggml-org/llama.cpp#26535, BerriAI/litellm#34692.
"""

from __future__ import annotations

import json

import pytest

from tests.cli.conftest import Run, Serve
from turnkeeper.cli.problems import line_for
from turnkeeper.errors import APIError
from turnkeeper.testing import call, reply


def test_without_key_and_endpoint_the_practice_model_answers_and_one_line_says_so(run: Run) -> None:
    done = run("ask", "hello")
    assert done.exit_code == 0
    assert "practice model" in done.stdout
    [line] = done.stderr.splitlines()
    assert line.startswith("turnkeeper: no key and no --base-url, so the practice model answers")
    assert "set ANTHROPIC_API_KEY for Claude" in line


def test_an_unknown_model_without_a_key_is_said_before_anything_is_asked(run: Run) -> None:
    done = run("ask", "-m", "qwen3:30b", "hello")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == (
        "turnkeeper: the model 'qwen3:30b' is not one that the practice model stands in for, and there is no key and no"
        " --base-url to ask it elsewhere: set ANTHROPIC_API_KEY, or choose one of `turnkeeper models`\n"
    )
    assert run("ask", "-m", "claude-haiku-4-5", "hello").exit_code == 0


def test_a_blank_key_is_no_key(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "  ")
    assert "practice model answers" in run("ask", "hello").stderr


@pytest.mark.parametrize("ending", ["", "/", "/v1", "/v1/", "/v1/messages"])
def test_an_endpoint_needs_no_key_and_may_be_written_with_its_path(run: Run, serve: Serve, ending: str) -> None:
    url = serve("from the endpoint")
    done = run("ask", "--base-url", url + ending, "hello")
    assert (done.exit_code, done.stdout, done.stderr) == (0, "from the endpoint\n", "")
    [record] = serve.api.requests
    assert (record.path, record.headers["authorization"]) == ("/v1/messages", "Bearer none")


def test_a_key_of_the_environment_is_sent_to_the_endpoint(
    run: Run, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-for-the-gateway")
    run("ask", "--base-url", serve("ok"), "hello")
    [record] = serve.api.requests
    assert record.headers["authorization"] == "Bearer sk-ant-for-the-gateway"


@pytest.mark.parametrize("url", ["localhost:11434", "ftp://host", "http://", "nonsense"])
def test_what_is_no_endpoint_is_refused_with_an_example(run: Run, url: str) -> None:
    done = run("ask", "--base-url", url, "hello")
    assert done.exit_code == 2
    assert "an endpoint is http://HOST:PORT or https://HOST, such as http://localhost:11434" in done.stderr


def test_an_endpoint_that_cant_be_reached_is_said_with_what_to_do() -> None:
    error = APIError("the connection to the API failed (ConnectError)", kind="connection_error", retryable=True)
    assert line_for(error) == (
        "connection_error: the connection to the API failed (ConnectError); check the network and the endpoint"
        " (--base-url)"
    )


@pytest.mark.parametrize("imitation", ["ollama", "llama.cpp", "vllm", "litellm"])
def test_a_tool_conversation_gets_through_each_compatible_endpoint(
    run: Run, serve: Serve, tools: str, imitation: str
) -> None:
    url = serve(reply(call("weather", {"city": "Rome"})), "Warm.", imitation=imitation)
    done = run("ask", "--base-url", url, "-m", "qwen3", "-T", tools, "--conversation", "c", "weather?")
    assert (done.exit_code, done.stdout) == (0, "Warm.\n")
    assert '· weather(city="Rome")' in done.stderr
    again = run("ask", "--base-url", serve("Bye.", imitation=imitation), "-m", "qwen3", "-T", tools, "-c", "thanks")
    assert (again.exit_code, again.stdout) == (0, "Bye.\n")


def test_a_forced_choice_that_the_endpoint_passes_over_is_asked_for_again(run: Run, serve: Serve, tools: str) -> None:
    url = serve("It may be warm.", reply(call("weather", {"city": "Rome"})), "Warm.", imitation="ollama")
    options = ["-m", "llama3.2", "-T", tools, "--tool-choice", "weather"]
    done = run("ask", "--base-url", url, *options, "hello")
    assert (done.exit_code, done.stdout.endswith("Warm.\n")) == (0, True)
    assert "a reply was left out: it did not keep to tool_choice 'weather'" in done.stderr
    assert '· weather(city="Rome")' in done.stderr


@pytest.mark.parametrize(
    ("choice", "came", "said"),
    [
        ("weather", "Maybe.", "tool_choice 'weather' was not kept in 3 replies; the last one was text: 'Maybe.'"),
        ("any", "Maybe.", "tool_choice 'any' was not kept in 3 replies"),
        ("weather", reply(call("broken", {"city": "x"})), "the last one called broken"),
        ("none", reply(call("broken", {"city": "x"})), "tool_choice 'none' was not kept in 3 replies"),
    ],
)
def test_one_that_can_not_be_had_is_an_error(
    run: Run, serve: Serve, tools: str, choice: str, came: object, said: str
) -> None:
    options = ["-m", "llama3.2", "-T", tools, "--tool-choice", choice]
    done = run("ask", "--base-url", serve(came, came, came, imitation="ollama"), *options, "hello")
    assert done.exit_code == 1
    assert said in done.stderr.splitlines()[-1]
    url = serve(came, came, came, imitation="ollama")
    as_json = run("ask", "--base-url", url, *options, "--output-format", "json", "hello")
    found = json.loads(as_json.stdout)
    assert (as_json.exit_code, found["status"], found["reason"]) == (1, "failed", "tool_choice_unmet")
    assert said in found["error"]["message"]


def test_a_model_that_takes_no_forced_choice_is_told_in_words_and_a_line_says_so(
    run: Run, serve: Serve, tools: str
) -> None:
    url = serve(reply(call("weather", {"city": "x"})), "done")
    done = run("ask", "--base-url", url, "-m", "claude-opus-5-5", "-T", tools, "--tool-choice", "any", "hello")
    assert (done.exit_code, done.stdout) == (0, "done\n")
    assert "claude-opus-5-5 takes no forced choice" in done.stderr


def test_a_forced_choice_that_was_kept_says_nothing(run: Run, serve: Serve, tools: str) -> None:
    url = serve(reply(call("weather", {"city": "x"})), "done")
    done = run("ask", "--base-url", url, "-m", "claude-sonnet-5", "-T", tools, "--tool-choice", "any", "hello")
    assert done.exit_code == 0
    assert "tool_choice" not in done.stderr
