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


@pytest.mark.parametrize(
    ("choice", "first", "said"),
    [
        ("weather", "It may be warm.", "did not keep to tool_choice 'weather': its reply came without a call"),
        ("any", "It may be warm.", "did not keep to tool_choice 'any': its reply came without a call"),
        ("weather", reply(call("broken", {"city": "x"})), "its reply came with a call of broken"),
    ],
)
def test_a_forced_choice_that_came_to_nothing_is_named(
    run: Run, serve: Serve, tools: str, choice: str, first: object, said: str
) -> None:
    url = serve(first, "done", imitation="ollama")
    done = run("ask", "--base-url", url, "-m", "llama3.2", "-T", tools, "--tool-choice", choice, "hello")
    assert done.exit_code == 0
    assert said in done.stderr
    url = serve(first, "done", imitation="ollama")
    options = ["--tool-choice", choice, "--output-format", "json"]
    found = json.loads(run("ask", "--base-url", url, "-m", "llama3.2", "-T", tools, *options, "hello").stdout)
    assert [said in warning for warning in found["warnings"]] == [True]


def test_a_forced_choice_that_was_kept_says_nothing(run: Run, serve: Serve, tools: str) -> None:
    url = serve(reply(call("weather", {"city": "x"})), "done")
    done = run("ask", "--base-url", url, "-m", "claude-sonnet-5", "-T", tools, "--tool-choice", "any", "hello")
    assert done.exit_code == 0
    assert "tool_choice" not in done.stderr
