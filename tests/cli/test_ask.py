"""`turnkeeper ask`: where the prompt comes from, what stdout and stderr carry, exit codes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cli.conftest import Open, Run, Serve
from turnkeeper.testing import call, faults, reply, text


def last_prompt(serve: Serve) -> str:
    content = serve.last["messages"][-1]["content"]
    said: str = content if isinstance(content, str) else content[-1]["text"]
    return said


# ----- the prompt -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "piped", "prompt"),
    [
        (["What time is it in Berlin?"], None, "What time is it in Berlin?"),
        (["what", "time", "is", "it"], None, "what time is it"),
        ([], "Который час?\n", "Который час?"),
        (["-"], "现在几点？", "现在几点？"),
        (["Explain this"], "diff --git a b\n", "diff --git a b\n\nExplain this"),
        ([], "\ufeffwith a mark", "with a mark"),
        (["only the words"], "  \n", "only the words"),
    ],
)
def test_the_prompt_is_the_words_or_stdin_or_both(
    run: Run, serve: Serve, words: list[str], piped: str | None, prompt: str
) -> None:
    done = run("ask", "--base-url", serve("fine"), *words, input=piped)
    assert (done.exit_code, done.stdout) == (0, "fine\n")
    assert last_prompt(serve) == prompt


@pytest.mark.parametrize("args", [["ask"], ["ask", "-"], ["ask", "  "], ["chat"]])
def test_without_a_prompt_the_usage_is_explained(run: Run, args: list[str]) -> None:
    done = run(*args, input="")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith("turnkeeper: there is no prompt; write turnkeeper ask")
    assert len(done.stderr.splitlines()) == 1


def test_stdin_that_is_no_text_is_refused(run: Run) -> None:
    done = run("ask", input=b"ok \xff\xfe")
    assert done.exit_code == 2
    assert "stdin is not UTF-8 text (at byte 3)" in done.stderr


# ----- what is printed --------------------------------------------------------------------------------------------


def test_stdout_carries_the_answer_and_stderr_one_line_for_each_call(run: Run, serve: Serve, tools: str) -> None:
    url = serve(
        reply("I'll look.", call("weather", {"city": "Köln"}), call("weather", {"city": "北京"})), "21 everywhere."
    )
    done = run("ask", "--base-url", url, "-T", tools, "weather?")
    assert (done.exit_code, done.stdout) == (0, "21 everywhere.\n")
    lines = sorted(line.strip() for line in done.stderr.splitlines())
    assert [line.split(")")[0] for line in lines] == ['· weather(city="Köln"', '· weather(city="北京"']
    assert all(line.endswith(("ms ok", "s ok")) for line in lines)


def test_a_reply_that_broke_off_is_not_in_the_answer(run: Run, serve: Serve) -> None:
    done = run("ask", "--base-url", serve(faults.cut("This never happened.", after=4), "This did."), "hello")
    assert (done.exit_code, done.stdout) == (0, "This did.\n")
    assert "stream_cut: asking again in" in done.stderr


def test_escape_sequences_of_the_model_and_of_tools_are_not_printed(run: Run, serve: Serve, tools: str) -> None:
    nasty = "\x1b]52;c;cm0gLXJm\x07safe\x1b[31m \u202etext\ud800"
    url = serve(reply(call("weather", {"city": nasty})), nasty)
    done = run("ask", "--base-url", url, "-T", tools, "hello")
    assert done.stdout == "safe text\ufffd\n"
    assert "\x1b" not in done.stderr
    assert "\u202e" not in done.stderr
    assert "\\u001b" in done.stderr, "in arguments they are shown, not hidden"
    shown = run("show", json.loads(run("list", "--output-format", "json").stdout)[0]["id"])
    assert "safe text" in shown.stdout
    assert "\x1b" not in shown.stdout


def test_json_is_one_object_about_the_turn(run: Run, serve: Serve, tools: str) -> None:
    url = serve(reply(call("weather", {"city": "Rome"})), "Warm.\x1b[0m")
    done = run("ask", "--base-url", url, "-T", tools, "--conversation", "c-1", "--output-format", "json", "hello")
    found = json.loads(done.stdout)
    assert done.stderr == ""
    assert (found["conversation_id"], found["status"], found["text"]) == ("c-1", "completed", "Warm.\x1b[0m")
    assert (found["stop_reason"], found["error"], found["usage"]["requests"]) == ("end_turn", None, 2)
    [made] = found["calls"]
    assert (made["name"], made["input"], made["outcome"]) == ("weather", {"city": "Rome"}, "succeeded")
    assert made["content"] == "Rome: 21 degrees"
    assert "\x1b" not in done.stdout


def test_stream_json_is_one_line_for_each_update(run: Run, serve: Serve, tools: str) -> None:
    url = serve(reply(call("weather", {"city": "Rome"})), "It is warm.")
    done = run("ask", "--base-url", url, "-T", tools, "--output-format", "stream-json", "hello")
    updates = [json.loads(line) for line in done.stdout.splitlines()]
    kinds = [update["type"] for update in updates if update["type"] != "text"]
    assert kinds == [
        *("request_started", "reply", "call_started", "call_finished"),
        *("request_started", "reply", "turn_ended"),
    ]
    assert "".join(update["text"] for update in updates if update["type"] == "text") == "It is warm."
    assert updates[-1]["status"] == "completed"


def test_json_without_streaming_asks_for_whole_replies(run: Run, serve: Serve) -> None:
    done = run("ask", "--base-url", serve("whole"), "--no-stream", "hello")
    assert done.stdout == "whole\n"
    assert "stream" not in serve.last


# ----- how it ends ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("script", "options", "code", "said"),
    [
        (["fine"], [], 0, ""),
        ([reply("I won't", stop_reason="refusal")], [], 5, "the model refused"),
        ([reply(call("weather", {"city": "x"}))], ["--max-requests", "1"], 4, "the limit on requests; --max-requests"),
        ([reply("never en", stop_reason="model_context_window_exceeded")], [], 4, "the model's window is full"),
        ([reply(call("weather", {"city": "x"}))], ["--budget", "0.000001"], 4, "the budget; --budget raises it"),
        ([faults.bad_request("bad \x1b[31mrequest")], [], 1, "invalid_request_error 400"),
        ([faults.unauthenticated()], [], 1, "authentication_error 401"),
    ],
)
def test_the_exit_code_says_how_the_turn_ended(
    run: Run, serve: Serve, tools: str, script: list[Any], options: list[str], code: int, said: str
) -> None:
    done = run("ask", "--base-url", serve(*script), "-T", tools, *options, "hello")
    assert done.exit_code == code
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_what_tools_print_is_no_part_of_the_answer(run: Run, serve: Serve, home: Any) -> None:
    (home / "chatty.py").write_text(
        "import turnkeeper as tk\n\nprint('loaded')\n\n\n@tk.tool\ndef f() -> str:\n    'F.'\n    print('at work')\n"
        "    return 'x'\n"
    )
    done = run("ask", "--base-url", serve(reply(call("f", {})), "done"), "-T", "chatty.py", "hello")
    assert (done.exit_code, done.stdout) == (0, "done\n")
    assert done.stderr.splitlines()[:2] == ["loaded", "at work"]


def test_at_a_terminal_the_answer_streams_and_what_broke_off_is_called_so(
    serve: Serve, screen: Open, tools: str
) -> None:
    url = serve(faults.cut("This never", after=4), reply("I'll look.", call("weather", {"city": "Rome"})), "Warm.")
    asked = screen("ask", "--base-url", url, "-T", tools, "hello")
    assert asked.ended() == 0
    lines = asked.shown().splitlines()
    assert lines[0].startswith("This")
    assert lines[1] == "  (that broke off and doesn't count: stream_cut)"
    assert lines[2].startswith("  stream_cut: asking again in")
    assert lines[3] == "I'll look."
    assert lines[4].startswith('  · weather(city="Rome")')
    assert lines[5:] == ["Warm."]


def test_a_call_that_waits_for_a_person_ends_the_command_with_3(run: Run, serve: Serve, tools: str) -> None:
    url = serve(reply(call("pay", {"amount": 5})))
    done = run("ask", "--base-url", url, "-T", f"{tools}:pay", "--conversation", "c", "pay five")
    assert (done.exit_code, done.stdout) == (3, "")
    lines = done.stderr.splitlines()
    assert lines[0] == "  · pay(amount=5) waits for approval"
    assert lines[-1].startswith("turnkeeper: a call waits for somebody's approval; then `turnkeeper resume c -T ")
    shown = run("show", "c").stdout
    assert "awaiting approval" in shown.splitlines()[0]
    assert "pay waits for approval " in shown
    again = run("ask", "--base-url", url, "-T", f"{tools}:pay", "--conversation", "c", "and?")
    assert again.exit_code == 3
    assert len(again.stderr.splitlines()) == 1


def test_a_failed_turn_is_told_as_json_too(run: Run, serve: Serve) -> None:
    done = run(
        "ask", "--base-url", serve(faults.bad_request("bad \x1b[31mrequest")), "--output-format", "json", "hello"
    )
    found = json.loads(done.stdout)
    assert done.exit_code == 1
    assert (found["status"], found["error"]["kind"]) == ("failed", "invalid_request_error")
    assert done.stderr.startswith("turnkeeper: invalid_request_error 400")


def test_the_options_reach_the_request(run: Run, serve: Serve, tools: str) -> None:
    url = serve("ok")
    options = ["-m", "claude-haiku-5-5", "-s", "Be brief.", "--max-tokens", "77", "--tool-choice", "none"]
    run("ask", "--base-url", url, "-T", f"{tools}:weather", *options, "hello")
    body = serve.last
    assert (body["model"], body["max_tokens"], body["tool_choice"]) == ("claude-haiku-5-5", 77, {"type": "none"})
    assert [tool["name"] for tool in body["tools"]] == ["weather"]
    assert "Be brief." in json.dumps(body["system"])


def test_settings_of_the_environment_and_the_file_count_where_no_option_does(
    run: Run, serve: Serve, tools: str, monkeypatch: pytest.MonkeyPatch, home: Any
) -> None:
    url = serve("ok", "ok")
    (home / "turnkeeper.toml").write_text(f'system = "From the file."\ntools = ["{tools}:weather"]\nmax_tokens = 55\n')
    monkeypatch.setenv("ANTHROPIC_BASE_URL", url)
    monkeypatch.setenv("ANTHROPIC_MODEL", "claude-haiku-4-5")
    monkeypatch.setenv("TURNKEEPER_TRUST_FILE", str(home))
    run("ask", "hello")
    assert (serve.last["model"], serve.last["max_tokens"]) == ("claude-haiku-4-5", 55)
    assert "From the file." in json.dumps(serve.last["system"])
    run("ask", "-s", "From the line.", "hello")
    assert "From the line." in json.dumps(serve.last["system"])


HOSTILE = """
from pathlib import Path
Path("ran").touch()
"""


@pytest.mark.parametrize("command", [["ask", "hello"], ["chat"], ["resume", "c"], ["worker"]])
@pytest.mark.parametrize("setting", ['tools = ["evil.py"]', 'journal = "sqlite:///evil.db"', 'system = "Obey."'])
def test_a_cloned_repository_runs_no_code_and_takes_no_conversation(
    run: Run, serve: Serve, monkeypatch: pytest.MonkeyPatch, home: Any, setting: str, command: list[str]
) -> None:
    (home / "turnkeeper.toml").write_text(setting)
    (home / "evil.py").write_text(HOSTILE)
    monkeypatch.setenv("ANTHROPIC_BASE_URL", serve("never sent"))
    if command == ["worker"] and not setting.startswith("journal"):
        monkeypatch.setenv("TURNKEEPER_JOURNAL", "postgresql://nobody@127.0.0.1:9/none")
    done = run(*command, input="hello")
    assert (done.exit_code, done.stdout, list(serve.api.requests)) == (2, "", [])
    assert f"{home}/turnkeeper.toml sets {setting.partition(' ')[0]}, which decides" in done.stderr
    assert f"trust it: TURNKEEPER_TRUST_FILE={home}/turnkeeper.toml" in done.stderr
    assert not (home / "ran").exists()
    assert not (home / "evil.db").exists()


@pytest.mark.parametrize("command", [["list"], ["show", "c"], ["export", "c"], ["verify", "c"], ["approvals"]])
def test_a_cloned_repository_names_no_journal_to_read(run: Run, home: Any, command: list[str]) -> None:
    (home / "turnkeeper.toml").write_text('journal = "sqlite:///evil.db"')
    done = run(*command)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "sets journal, which decides where conversations are kept" in done.stderr
    assert not (home / "evil.db").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--budget", "lots"], "'lots' is not an amount of money"),
        (["--budget", "nan"], "'nan' is not an amount of 0 or more"),
        (["--max-requests", "0"], "0 is not in the range x>=1"),
        (["-c", "--conversation", "x"], "use one of them"),
        (["--tool-choice", "any"], "tool_choice 'any' needs tools"),
        (["--journal", "turnkeeper.db"], "Did you mean sqlite:///turnkeeper.db?"),
        (["--conversation", "a\nb"], "a conversation's id can't hold"),
        (["--output-format", "xml"], "'xml' is not one of"),
        (["--nonsense"], "No such option"),
    ],
)
def test_wrong_usage_is_one_line_that_says_what_to_do(run: Run, options: list[str], said: str) -> None:
    done = run("ask", *options, "hello")
    assert done.exit_code in (1, 2)
    assert said in done.stderr
    assert len(done.stderr.strip().splitlines()) <= 2, "the practice model's line may come first"
    assert done.stdout == ""


def test_a_blank_line_before_the_text_is_kept_out_of_the_answer(run: Run, serve: Serve) -> None:
    assert run("ask", "--base-url", serve(reply(text("one"), text(" two\n"))), "x").stdout == "one two\n"
