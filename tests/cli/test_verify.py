"""`turnkeeper verify`: saved messages before the rules of the API."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run

SOUND: list[dict[str, Any]] = [{"role": "user", "content": "Привет"}, {"role": "assistant", "content": "Hello."}]
ORPHAN: list[dict[str, Any]] = [
    {"role": "user", "content": "hi"},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}]},
    {"role": "user", "content": "and?"},
]


def test_sound_messages_have_no_faults_from_a_file_and_from_stdin(run: Run, home: Path) -> None:
    (home / "talk.json").write_text(json.dumps(SOUND))
    from_file, from_stdin = run("verify", "talk.json"), run("verify", "-", input=json.dumps({"messages": SOUND[:1]}))
    assert (from_file.exit_code, from_file.stdout) == (0, "no faults\n")
    assert (from_stdin.exit_code, from_stdin.stdout) == (0, "no faults\n")


def test_each_fault_comes_with_its_place_the_apis_words_and_the_repair(run: Run, home: Path) -> None:
    (home / "talk.json").write_text(json.dumps(ORPHAN))
    done = run("verify", "talk.json")
    assert done.exit_code == 1
    lines = done.stdout.splitlines()
    assert lines[0].startswith("messages.")
    assert "`tool_use` ids were found without `tool_result` blocks immediately after: toolu_1" in lines[0]
    assert lines[1].strip().startswith("400 invalid_request_error, rule ")
    assert lines[2].strip().startswith("to repair: ")
    assert lines[-1] == "1 fault"


def test_json_names_the_rule(run: Run) -> None:
    done = run("verify", "-", "--output-format", "json", input=json.dumps(ORPHAN))
    found = json.loads(done.stdout)
    assert (done.exit_code, found["ok"], found["problems"]) == (1, False, [])
    [fault] = found["faults"]
    assert set(fault) == {"rule", "path", "status", "type", "message", "repair", "details"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{nonsense", "talk.json:1:2: not JSON"),
        ('"a text"', "expected a list of messages, or an object with one under 'messages'"),
        ('{"messages": 3}', "expected a list of messages"),
        ("[" * 100_000, "nested too deeply to be read"),
        (b"\xff\xfe[]", "is not UTF-8 text (at byte 0)"),
    ],
)
def test_what_cant_be_read_is_said_with_its_place(run: Run, home: Path, text: str | bytes, said: str) -> None:
    (home / "talk.json").write_bytes(text if isinstance(text, bytes) else text.encode())
    done = run("verify", "talk.json")
    assert (done.exit_code, done.stdout) == (2, "")
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_neither_file_nor_conversation(run: Run) -> None:
    missing, unknown = run("verify", "missing.json"), run("verify", "c-99")
    assert (missing.exit_code, missing.stderr) == (
        2,
        "turnkeeper: missing.json can't be read: No such file or directory\n",
    )
    assert (unknown.exit_code, unknown.stderr) == (
        2,
        "turnkeeper: 'c-99' is neither a file nor a conversation of this journal\n",
    )


def test_a_conversation_whose_id_has_a_slash_is_found(run: Run, home: Path) -> None:
    run("ask", "--conversation", "shop/7", "hello")
    done = run("verify", "shop/7")
    assert (done.exit_code, done.stdout) == (0, "no faults\n")
    assert "shop/8 can't be read: No such file" in run("verify", "shop/8").stderr
    (home / "shop").mkdir()
    (home / "shop" / "7").write_text("{nonsense")
    assert "shop/7:1:2: not JSON" in run("verify", "shop/7").stderr, "a file that is there comes first"


@pytest.mark.parametrize("form", ["json", "journal"])
def test_what_export_wrote_is_verified(run: Run, home: Path, form: str) -> None:
    run("ask", "--conversation", "c-1", "hello")
    exported = run("export", "c-1", "-f", form).stdout
    (home / "c-1.txt").write_text(exported)
    for done in (run("verify", "c-1.txt"), run("verify", "-", input=exported)):
        assert (done.exit_code, done.stdout) == (0, "no faults\n")


def test_an_export_that_was_changed_or_cut_off_is_found_out(run: Run) -> None:
    run("ask", "--conversation", "c-1", "hello")
    exported = run("export", "c-1", "-f", "journal").stdout
    changed = run("verify", "-", input=exported.replace("hello", "jello"))
    cut = run("verify", "-", input="".join(exported.splitlines(keepends=True)[:-1]))
    assert (changed.exit_code, cut.exit_code) == (1, 1)
    assert "was changed: event 2 is not what was written" in changed.stderr
    assert "is not whole" in cut.stderr


def test_escapes_in_the_messages_are_not_printed(run: Run) -> None:
    done = run("verify", "-", input=json.dumps([{"role": "\x1b[31muser\u202e", "content": "x"}]))
    assert done.exit_code == 1
    assert "\x1b" not in done.stdout
    assert "\u202e" not in done.stdout


def test_the_models_own_rules_count_where_it_is_named(run: Run) -> None:
    request = {"model": "claude-opus-4-6", "messages": [{"role": "user", "content": "Rate it."}, SOUND[1]]}
    assert run("verify", "-", input=json.dumps(request)).exit_code == 1, "it takes no prefill"
    assert run("verify", "-", "-m", "claude-haiku-4-5", input=json.dumps(request)).exit_code == 0


def test_a_conversation_that_was_changed_in_the_journal_is_found_out(run: Run, home: Path) -> None:
    run("ask", "--conversation", "c-1", "hello")
    assert run("verify", "c-1").exit_code == 0
    connection = sqlite3.connect(home / ".local/share/turnkeeper/journal.db")
    [table] = [
        name
        for (name,) in connection.execute("select name from sqlite_master where type = 'table'")
        if "payload" in {row[1] for row in connection.execute(f"pragma table_info('{name}')")}
    ]
    with connection:
        connection.execute(f"update {table} set payload = replace(payload, 'hello', 'jello')")
    connection.close()
    done = run("verify", "c-1")
    assert done.exit_code == 1
    assert "journal: event 2 is not what was written: its hash doesn't fit" in done.stdout
    assert run("show", "c-1").exit_code == 1
