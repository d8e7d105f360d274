"""`turnkeeper chat` at a terminal: talking, commands inside, leaving."""

from __future__ import annotations

import json
import re
import stat
from pathlib import Path

from tests.cli.conftest import Open, Run, Serve
from turnkeeper.testing import call, faults, reply

CTRL_C, CTRL_D = "\x03", "\x04"


def test_a_conversation_with_a_call_and_the_commands_inside(
    run: Run, serve: Serve, screen: Open, tools: str, home: Path
) -> None:
    url = serve(reply("Let me look.", call("weather", {"city": "Rome"})), "Warm in *Rome*.", "Bitte.", "new one")
    chat = screen("chat", "--base-url", url, "-T", tools, "-m", "claude-opus-5-5")
    greeting = chat.prompt()
    assert "Turnkeeper: claude-opus-5-5, conversation " in greeting
    name = greeting.split("conversation ")[1].split(".")[0]
    assert "Nothing has been said yet." in chat.say("/history")

    shown = chat.say("Wie ist das Wetter?")
    assert re.search(r'Let me look\.\n  · weather\(city="Rome"\) \d+ ms ok\n', shown)
    assert "Warm in *Rome*.\n" in shown
    assert "Bitte." in chat.say("danke")

    assert "/export   write this conversation to a file" in chat.say("/help")
    assert "weather (once): The weather in a city." in chat.say("/tools")
    assert "3 requests, " in chat.say("/cost")
    assert "there is no command /hepl; /help lists them" in chat.say("/hepl")
    history = chat.say("/history")
    assert ", 2 turns, completed" in history
    assert "> danke\n\n│ Bitte." in history
    assert f"Written to conversation-{name}.md." in chat.say("/export")
    assert "is there already; name another file" in chat.say("/export")
    assert "Written to out.json." in chat.say("/export out.json")
    assert "name it .json or .md" in chat.say("/export out.txt")

    assert "Conversation " in chat.say("/new")
    assert "new one" in chat.say("hello")
    assert f"Conversation {name}. /history shows it." in chat.say(f"/resume {name}")
    assert "there is no conversation 'nope'" in chat.say("/resume nope")
    assert "nothing to resume" in chat.say("/resume")
    chat.type("/quit\r")
    assert chat.ended() == 0

    kept = [(one["title"], one["turns"]) for one in json.loads(run("list", "--output-format", "json").stdout)]
    assert kept == [("hello", 1), ("Wie ist das Wetter?", 2)]
    assert stat.S_IMODE((home / ".local/share/turnkeeper/chat_history").stat().st_mode) == 0o600
    assert stat.S_IMODE((home / "out.json").stat().st_mode) == 0o600
    assert run("verify", "out.json").exit_code == 0


def test_what_was_typed_before_comes_back_with_the_arrow_keys_in_another_session(serve: Serve, screen: Open) -> None:
    url = serve("one", "two")
    first = screen("chat", "--base-url", url)
    first.prompt()
    first.say("Привет, мир")
    first.type(CTRL_D)
    assert first.ended() == 0
    second = screen("chat", "--base-url", url)
    second.prompt()
    second.type("\x1b[A")
    second.expect("мир")
    assert "two" in second.say("")
    assert serve.last["messages"][0]["content"][0]["text"] == "Привет, мир"


def test_a_failing_request_leaves_the_chat_at_its_prompt_and_resume_takes_it_up(serve: Serve, screen: Open) -> None:
    chat = screen("chat", "--base-url", serve(faults.bad_request("no such luck"), "now it works"))
    chat.prompt()
    assert "turnkeeper: invalid_request_error 400: no such luck" in chat.say("hello")
    assert "now it works" in chat.say("/resume")
    chat.type(CTRL_D)
    assert chat.ended() == 0


def test_an_interrupted_turn_is_announced_and_taken_up(run: Run, serve: Serve, screen: Open, tools: str) -> None:
    url = serve(reply(call("weather", {"city": "Rome"})), "Warm.")
    run("ask", "--base-url", url, "-T", tools, "--max-requests", "1", "weather?")
    chat = screen("chat", "--base-url", url, "-T", tools, "-c")
    chat.prompt()
    assert "Warm." in chat.say("/resume")


def test_escape_sequences_of_the_model_never_reach_the_terminal(serve: Serve, screen: Open, tools: str) -> None:
    nasty = "\x1b]52;c;cm0gLXJm\x07\x1b]0;root\x1b\\\x1b[2Jok \x9b31m\u202edlrow\x08\x08"
    url = serve(reply(nasty, call("weather", {"city": nasty})), nasty, chunk=3)
    chat = screen("chat", "--base-url", url, "-T", tools)
    chat.prompt()
    assert "ok dlrow" in chat.say("hello")
    chat.say("/history")
    for sequence in ("\x1b]52", "\x1b]0;", "\x1b[2J", "\x9b", "\u202e"):
        assert sequence not in chat.seen


def test_a_small_screen_gets_calls_on_one_line_each(serve: Serve, screen: Open, tools: str) -> None:
    city = "Llanfairpwllgwyngyllgogerychwyrndrobwllllantysiliogogogoch 北京市"
    url = serve(reply(call("weather", {"city": city})), "Wet.")
    chat = screen("chat", "--base-url", url, "-T", tools, rows=10, columns=40)
    chat.prompt()
    shown = chat.say("x" * 200)
    [line] = [line for line in shown.splitlines() if line.endswith(" ok")]
    assert line.strip().startswith('· weather(city="Llan')
    assert len(line) < 40
    assert "Wet." in shown
    chat.type(CTRL_D)
    assert chat.ended() == 0


def test_no_color_and_dumb_terminals_get_plain_text(serve: Serve, screen: Open, tools: str) -> None:
    url = serve(reply(call("weather", {"city": "Rome"})), "Warm.", "Warm.")
    chat = screen("chat", "--base-url", url, "-T", tools, NO_COLOR="1")
    chat.prompt()
    chat.say("hello")
    assert not re.search(r"\x1b\[[1-9][0-9]*m", chat.seen)
    dumb = screen("chat", "--base-url", url, TERM="dumb")
    dumb.prompt()
    dumb.say("hello")
    dumb.type(CTRL_D)
    assert dumb.ended() == 0
    assert "Warm." in dumb.seen
    assert "\x1b" not in dumb.seen


def test_at_a_terminal_other_output_formats_are_for_ask(screen: Open) -> None:
    chat = screen("chat", "--output-format", "json")
    assert chat.ended() == 2
    assert "--output-format is for one turn" in chat.seen
