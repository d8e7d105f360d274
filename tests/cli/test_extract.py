"""`turnkeeper extract`: lines in, JSON lines out, in order, errors beside values; gone on with after a kill."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run, Serve, Start
from tests.cli.zygote import Zygote
from turnkeeper.testing import faults, reply

TYPES = '''
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, Field


class Sentiment(BaseModel):
    """How a text feels."""

    score: float = Field(ge=0.0, le=1.0)


@dataclass
class Note:
    text: str


Kind = Literal["spam", "ham"]
number = 5
'''


@pytest.fixture
def types(home: Path) -> str:
    path = home / "types_of_mine.py"
    path.write_text(TYPES)
    return f"{path}:Sentiment"


def text_of(request: dict[str, Any]) -> str:
    found: str = request["messages"][0]["content"][0]["text"]
    return found


def by_length(request: dict[str, Any]) -> Any:
    """A score by the text's length: every text has a value of its own."""
    return reply(json.dumps({"score": len(text_of(request)) / 100}))


def lines(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines()]


def scored(*texts: str) -> list[Any]:
    return [{"line": n, "value": {"score": len(text) / 100}} for n, text in enumerate(texts, start=1)]


def test_each_line_gets_its_value_in_order_whatever_script_it_is_in(run: Run, serve: Serve, types: str) -> None:
    texts = ["I love my cats! 🐈", "Люблю котов", "我爱我的猫", "אני אוהב", "x" * 50]
    done = run(
        "extract",
        "--schema",
        types,
        "--base-url",
        serve(*[by_length] * 5),
        "--concurrency",
        "3",
        input="\n".join(texts),
    )
    assert (done.exit_code, done.stderr) == (0, "")
    assert lines(done.stdout) == scored(*texts)
    serve.api.assert_all_accepted()


def test_without_a_key_the_practice_model_answers_the_sentiment_lesson(run: Run, home: Path) -> None:
    (home / "sentiment.json").write_text(
        json.dumps(
            {
                "type": "object",
                "properties": {"positive_score": {"type": "number", "minimum": 0, "maximum": 1}},
                "required": ["positive_score"],
            }
        )
    )
    done = run("extract", "--schema", "sentiment.json", input="I love my cats!\nI hate pickles.\n")
    assert done.exit_code == 0
    assert [one["value"]["positive_score"] for one in lines(done.stdout)] == [0.8, 0.0]
    assert "practice model" in done.stderr


def test_what_goes_wrong_with_a_line_stands_in_its_place_and_the_others_are_not_affected(
    run: Run, serve: Serve, types: str
) -> None:
    def answer(request: dict[str, Any]) -> Any:
        text = text_of(request)
        if text == "refused":
            return reply("No.", stop_reason="refusal")
        if text == "bad":
            return reply('{"score": 7}')
        return faults.bad_request("no such picture") if text == "odd" else by_length(request)

    url = serve(*[answer] * 9)
    given = b"fine\n\nrefused\nbad\n\xff\xfe\nodd\nok\r\n"
    done = run("extract", "--schema", types, "--base-url", url, input=given)
    assert done.exit_code == 1
    found = lines(done.stdout)
    assert [one["line"] for one in found] == [1, 2, 3, 4, 5, 6, 7]
    assert [found[0]["value"], found[6]["value"]] == [{"score": 0.04}, {"score": 0.02}]
    errors = [found[n]["error"] for n in (1, 2, 3, 4, 5)]
    assert [(one["code"], one.get("reason")) for one in errors] == [
        ("input", None),
        ("extraction", "refused"),
        ("extraction", "invalid"),
        ("input", None),
        ("api", "invalid_request_error"),
    ]
    assert errors[2]["faults"] == ["score: must be less than or equal to 1; got 7"]
    assert errors[2]["came"] == '{"score": 7}'
    assert errors[3]["message"] == "the line is not UTF-8 text (at byte 0)"
    assert done.stderr == "turnkeeper: 5 of 7 lines failed\n"


def test_lines_of_json_bring_their_text_in_a_member_and_keep_their_id(run: Run, serve: Serve, types: str) -> None:
    given = ['{"id": "а-1", "body": "four"}', '"sixsix"', '{"id": 2}', "{", '{"body": 5}', "[]"]
    url = serve(*[by_length] * 2)
    options = ["--input", "jsonl", "--field", "body"]
    done = run("extract", "--schema", types, "--base-url", url, *options, input="\n".join(given))
    found = lines(done.stdout)
    assert found[0] == {"line": 1, "id": "а-1", "value": {"score": 0.04}}
    assert found[1] == {"line": 2, "value": {"score": 0.06}}
    assert (found[2]["id"], found[2]["error"]["message"][:25]) == (2, "the object has no 'body';")
    assert [one["error"]["message"].partition(":")[0] for one in found[3:]] == [
        "the line is not JSON",
        "the text is a string, not int",
        "the text is a string, not list",
    ]


def test_a_line_that_no_line_could_give_back_is_none_of_json(run: Run, types: str) -> None:
    """An id comes back with its value: what isn't JSON, or can't be written down again, must not come back so."""
    ids = ["NaN", "-Infinity", "1e999", "1" * 5000, "[" * 500 + "]" * 500, "[" * 100_000]
    given = "".join(f'{{"id": {one}, "text": "x"}}\n' for one in ids)
    done = run("extract", "--schema", types, "--input", "jsonl", input=given)
    found = [json.loads(line, parse_constant=pytest.fail) for line in done.stdout.splitlines()]
    assert [(one["line"], one["error"]["message"]) for one in found] == [
        (1, "the line is not JSON: NaN is not JSON"),
        (2, "the line is not JSON: -Infinity is not JSON"),
        (3, "the line is not JSON: the number 1e999 is too large"),
        (4, "the line is not JSON: a number in it is too long"),
        (5, "the line can't be read: the value is nested too deeply"),
        (6, "the line can't be read: the value is nested too deeply"),
    ]
    assert done.exit_code == 1


@pytest.mark.parametrize(
    ("name", "came", "value"), [("Note", '{"text": "é"}', {"text": "é"}), ("Kind", '{"value": "ham"}', "ham")]
)
def test_any_type_of_a_module_will_do(run: Run, serve: Serve, types: str, name: str, came: str, value: Any) -> None:
    spec = types.replace("Sentiment", name)
    done = run("extract", "--schema", spec, "--base-url", serve(came), input="x")
    assert lines(done.stdout) == [{"line": 1, "value": value}]
    del types


def test_a_compatible_endpoint_is_made_to_call_a_tool(run: Run, serve: Serve, types: str) -> None:
    url = serve(practice=True, imitation="ollama")
    done = run("extract", "--schema", types, "--base-url", url, "-m", "qwen3", input="a\nb\n")
    assert (done.exit_code, len(lines(done.stdout))) == (0, 2)
    assert serve.last["tools"][0]["name"] == "record"


@pytest.mark.parametrize(
    ("schema", "says"),
    [
        ("missing.json", "there is no such file; a type is written MODULE:TYPE or FILE.py:TYPE"),
        ("broken.json", "it is no JSON"),
        ("list.json", "a JSON Schema is an object"),
        ("unsound.json", "is not a valid JSON Schema"),
        ("types_of_mine.py", "say which type of the file"),
        ("types_of_mine.py:Missing", "there is no 'Missing'"),
        ("types_of_mine.py:number", "can't be extracted, it has no JSON Schema"),
        ("no_such_module:Thing", "there is no module 'no_such_module'"),
        ("nowhere.py:Thing", "there is no file nowhere.py"),
    ],
)
def test_what_is_no_schema_is_refused_before_anything_is_sent(
    run: Run, serve: Serve, types: str, home: Path, schema: str, says: str
) -> None:
    for name, content in (("broken", "{"), ("list", "[]"), ("unsound", '{"type": "nonsense"}')):
        (home / f"{name}.json").write_text(content)
    done = run("extract", "--schema", schema, "--base-url", serve("x"), input="x")
    assert (done.exit_code, done.stdout) == (2, "")
    assert says in done.stderr
    assert serve.api.requests == []
    del types


def test_without_input_there_is_nothing_to_do(run: Run, types: str) -> None:
    done = run("extract", "--schema", types, input="")
    assert done.exit_code == 2
    assert "stdin is empty" in done.stderr


def test_a_key_that_is_refused_ends_it_at_once(run: Run, serve: Serve, types: str) -> None:
    url = serve(*[faults.unauthenticated()] * 20)
    command = ["extract", "--schema", types, "--base-url", url, "--concurrency", "2"]
    done = run(*command, input="a\n" * 20)
    assert (done.exit_code, done.stdout) == (1, "")
    assert "authentication_error 401" in done.stderr
    assert len(serve.api.requests) <= 4
    kept = run(*command, "-o", "out.jsonl", input="a\n" * 20).stderr.splitlines()
    assert kept[0] == "turnkeeper: 0 of 20 lines are done; the same command goes on with the others"
    assert "authentication_error 401" in kept[1]


# ----- into a file ---------------------------------------------------------------------------------------------------


def test_a_file_is_written_whole_and_what_failed_is_tried_again_by_the_same_command(
    run: Run, serve: Serve, types: str, home: Path
) -> None:
    texts = ["a", "bb", "ccc"]

    def answer(request: dict[str, Any]) -> Any:
        return faults.bad_request("not now") if text_of(request) == "bb" else by_length(request)

    command = ["extract", "--schema", types, "-o", "out.jsonl"]
    first = run(*command, "--base-url", serve(*[answer] * 3), input="\n".join(texts))
    assert (first.exit_code, first.stdout) == (1, "")
    assert first.stderr == "turnkeeper: 1 of 3 lines failed; the same command tries them again\n"
    assert ["value" in one for one in lines((home / "out.jsonl").read_text())] == [True, False, True]
    second = run(*command, "--base-url", serve(by_length), input="\n".join(texts))
    assert (second.exit_code, second.stderr) == (0, "turnkeeper: 2 of 3 lines were done before\n")
    assert [text_of(record.body) for record in serve.api.requests if record.body] == ["bb"]
    assert lines((home / "out.jsonl").read_text()) == scored(*texts)
    assert [path.name for path in home.glob("out*")] == ["out.jsonl"]
    third = run(*command, "--base-url", serve(), input="\n".join(texts))
    assert third.exit_code == 2
    assert "out.jsonl: it is there already" in third.stderr


def test_a_job_is_gone_on_with_only_where_it_was_left(run: Run, serve: Serve, types: str, home: Path) -> None:
    url = serve(by_length, faults.bad_request("no"))
    options = ["--base-url", url, "-o", "out.jsonl", "--concurrency", "1"]
    assert run("extract", "--schema", types, *options, input="a\nbb").exit_code == 1
    other = run("extract", "--schema", types, *options, input="z\nbb")
    assert (other.exit_code, "another input (line 1 differs)" in other.stderr) == (2, True)
    other = run("extract", "--schema", types.replace("Sentiment", "Note"), *options, input="a\nbb")
    assert (other.exit_code, "another --schema" in other.stderr) == (2, True)
    partial = home / "out.jsonl.partial"
    assert partial.stat().st_mode & 0o777 == 0o600
    partial.write_bytes(partial.read_bytes() + b'{"text": "torn in the mid')
    again = run("extract", "--schema", types, "--base-url", serve(by_length), "-o", "out.jsonl", input="a\nbb")
    assert (again.exit_code, lines((home / "out.jsonl").read_text())) == (0, scored("a", "bb"))


def test_a_folder_that_is_not_there_is_said(run: Run, serve: Serve, types: str) -> None:
    done = run("extract", "--schema", types, "--base-url", serve(), "-o", "no/out.jsonl", input="a")
    assert (done.exit_code, "No such file or directory" in done.stderr) == (1, True)


class Gate:
    """Answers the first `free` requests; those after it wait until it is opened."""

    def __init__(self, free: int) -> None:
        self.seen: Counter[str] = Counter()
        self.full = threading.Event()
        self._free = free
        self._opened = threading.Event()
        self._lock = threading.Lock()

    def __call__(self, request: dict[str, Any]) -> Any:
        with self._lock:
            self.seen[text_of(request)] += 1
            waits = sum(self.seen.values()) > self._free
        if waits:
            self.full.set()
            self._opened.wait(30)
        return by_length(request)

    def open(self) -> None:
        self._opened.set()


def stdin_of(path: Path, texts: list[str]) -> int:
    path.write_text("\n".join(texts))
    return os.open(path, os.O_RDONLY)


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT])
def test_a_job_that_is_killed_is_gone_on_with_nothing_repeated_and_nothing_lost(
    serve: Serve, start: Start, types: str, home: Path, sent: signal.Signals
) -> None:
    texts = ["я" * n for n in range(1, 13)]
    gate = Gate(free=5)
    url = serve(*[gate] * 40)
    command = ["extract", "--schema", types, "--base-url", url, "-o", "out.jsonl", "--concurrency", "1"]
    given = stdin_of(home / "texts", texts)
    first = start(*command, stdin=given)
    assert gate.full.wait(30)
    os.kill(first.command.pid, sent)
    said = b"turnkeeper: 5 of 12 lines are done; the same command goes on with the others\n"
    assert first.ended() == ((-signal.SIGKILL, b"", b"") if sent is signal.SIGKILL else (130, b"", said))
    os.close(given)
    kept = [json.loads(line)["line"] for line in (home / "out.jsonl.partial").read_text().splitlines()[1:]]
    assert kept == [1, 2, 3, 4, 5]
    assert not (home / "out.jsonl").exists()
    gate.open()
    given = stdin_of(home / "texts", texts)
    code, _, errors = start(*command, stdin=given).ended()
    os.close(given)
    assert (code, errors) == (0, b"turnkeeper: 5 of 12 lines were done before\n")
    assert lines((home / "out.jsonl").read_text()) == scored(*texts)
    # The sixth was under way when the process was killed, and nobody knows its reply; every other was asked for once.
    assert gate.seen == Counter({text: 2 if len(text) == 6 else 1 for text in texts})
    assert not (home / "out.jsonl.partial").exists()


def test_two_at_work_on_one_file_are_told_so(run: Run, serve: Serve, start: Start, types: str, home: Path) -> None:
    gate = Gate(free=0)
    url = serve(*[gate] * 9)
    command = ["extract", "--schema", types, "--base-url", url, "-o", "out.jsonl"]
    given = stdin_of(home / "texts", ["a"])
    first = start(*command, stdin=given)
    os.close(given)
    assert gate.full.wait(30)
    second = run(*command, input="a")
    assert (second.exit_code, "another process is at work on it" in second.stderr) == (1, True)
    gate.open()
    assert first.ended()[0] == 0


def test_on_a_screen_a_bar_shows_how_far_it_is(serve: Serve, zygote: Zygote, types: str, home: Path) -> None:
    gate = Gate(free=2)
    url = serve(*[gate] * 9)
    command = ["extract", "--schema", types, "--base-url", url, "-o", "out.jsonl", "--concurrency", "1"]
    given = stdin_of(home / "texts", ["a", "bb", "ccc"])
    screen, slave = os.openpty()
    started = zygote.start(command, fds=[given, slave, slave], env={**os.environ, "COLUMNS": "70"}, cwd=home)
    os.close(slave)
    os.close(given)
    shown = b""
    while b"2/3" not in shown:
        shown += os.read(screen, 65_536)
    assert "━" in shown.decode()
    gate.open()
    assert started.wait() == 0
    os.close(screen)
    assert lines((home / "out.jsonl").read_text()) == scored("a", "bb", "ccc")
