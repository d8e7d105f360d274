"""The simulator on a real socket: the SDK, curl, cut connections, and a server process that starts and ends cleanly."""

from __future__ import annotations

import json
import shutil
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anthropic
import anyio
import httpx2
import pytest

from tests.simulator.asking import HEADERS, REQUEST, parse_events
from turnkeeper.errors import ConfigurationError, InputError
from turnkeeper.simulator.serving import find_model, listening, serve
from turnkeeper.testing import MessagesAPI, call, faults, reply, script, thinking

CREATE: Any = {"model": "claude-opus-5-5", "max_tokens": 64, "messages": [{"role": "user", "content": "Привет"}]}


def sync_client(url: str, **options: Any) -> anthropic.Anthropic:
    return anthropic.Anthropic(base_url=url, api_key="k", max_retries=0, **options)


def test_the_sdk_talks_to_a_socket() -> None:
    api = MessagesAPI([reply(thinking("hm"), "Ja 你好", call("f", {"a": "щ"})), "Streamend 👋 ok"])
    with api.listen() as url, sync_client(url) as client:
        message = client.messages.create(**CREATE)
        with client.messages.stream(**CREATE) as stream:
            words = list(stream.text_stream)
        assert client.messages.count_tokens(model=CREATE["model"], messages=CREATE["messages"]).input_tokens == 3
        assert client.models.retrieve("claude-opus-5-5").id == "claude-opus-5-5"
    assert message._request_id == "req_000001"
    assert [block.type for block in message.content] == ["thinking", "text", "tool_use"]
    assert words == ["Streamend ", "👋 ", "ok"]
    assert [record.outcome for record in api.requests] == ["complete", "complete"]
    api.assert_all_accepted()


@pytest.mark.anyio
async def test_the_async_sdk_talks_to_a_socket_many_times_at_once() -> None:
    api = MessagesAPI(lambda request: f"Echo: {request['messages'][0]['content']}")
    said: dict[int, str] = {}

    async def converse(client: anthropic.AsyncAnthropic, number: int) -> None:
        request = {**CREATE, "messages": [{"role": "user", "content": f"№ {number}"}]}
        async with client.messages.stream(**request) as stream:
            said[number] = await stream.get_final_text()

    with api.listen() as url:
        async with (
            anthropic.AsyncAnthropic(base_url=url, api_key="k", max_retries=0) as client,
            anyio.create_task_group() as tasks,
        ):
            for number in range(20):
                tasks.start_soon(converse, client, number)
    assert said == {number: f"Echo: № {number}" for number in range(20)}


def test_curl_gets_json_and_a_stream() -> None:
    api = MessagesAPI(script("Здравствуйте", then="last"))
    with api.listen() as url:
        plain, stream = (post(url, {**REQUEST, "stream": streamed}) for streamed in (False, True))
    assert json.loads(plain)["content"] == [{"type": "text", "text": "Здравствуйте"}]
    assert [name for name, _ in parse_events(stream)][-1] == "message_stop"


def post(url: str, body: Any) -> bytes:
    """With curl where it is installed, else with the standard library."""
    data = json.dumps(body).encode()
    if shutil.which("curl") is None:
        request = urllib.request.Request(f"{url}/v1/messages", data, HEADERS)
        with urllib.request.urlopen(request, timeout=20) as response:
            raw: bytes = response.read()
            return raw
    headers = [part for name, value in HEADERS.items() for part in ("-H", f"{name}: {value}")]
    command = ["curl", "-sN", "--noproxy", "*", f"{url}/v1/messages", *headers, "--data-binary", "@-"]
    return subprocess.run(command, input=data, capture_output=True, check=True, timeout=20).stdout


def test_a_cut_stream_closes_the_connection_without_the_final_chunk() -> None:
    api = MessagesAPI([faults.cut(reply("Ich sehe nach.", call("f", {"a": 1, "b": 2})), inside="tool_use"), "danach"])
    with api.listen() as url:
        raw = talk(url, "POST", json.dumps({**REQUEST, "stream": True}).encode())
        assert b"\r\n0\r\n" not in raw
        assert raw.endswith(b"}\n\n\r\n")  # the last event arrived whole
        assert raw.count(b"event: content_block_start") == 2
        assert json.loads(post(url, REQUEST))["content"][0]["text"] == "danach"
    assert api.requests[0].outcome == "cut"


def talk(url: str, method: str, body: bytes) -> bytes:
    """Everything that comes back on one connection until the server closes it."""
    host, _, port = url.removeprefix("http://").partition(":")
    lines = [f"{method} /v1/messages HTTP/1.1", f"host: {host}", f"content-length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in HEADERS.items()]
    with socket.create_connection((host, int(port)), timeout=20) as connection:
        connection.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
        received = b""
        while part := connection.recv(65_536):
            received += part
    return received


@pytest.mark.parametrize(
    ("entry", "streamed"),
    [
        (faults.cut("eins zwei", after=3), True),
        (faults.cut("eins zwei", bytes=700), True),
        (faults.cut("eins zwei", bytes=20), False),
    ],
)
def test_the_sdk_sees_the_cut(entry: Any, streamed: bool) -> None:
    def converse(client: anthropic.Anthropic) -> Any:
        if not streamed:
            return client.messages.create(**CREATE)
        with client.messages.stream(**CREATE) as stream:
            return stream.get_final_message()

    lost = (httpx2.RemoteProtocolError, anthropic.APIConnectionError)
    with MessagesAPI([entry]).listen() as url, sync_client(url) as client, pytest.raises(lost) as caught:
        converse(client)
    text = f"{caught.value} {caught.value.__cause__}"
    assert "peer closed connection without sending complete message body" in text


def test_a_stream_that_ends_early_but_properly_has_its_final_chunk() -> None:
    api = MessagesAPI([faults.cut("eins zwei", after=3, clean=True)])
    with api.listen() as url, sync_client(url) as client, client.messages.stream(**CREATE) as stream:
        assert stream.get_final_message().stop_reason is None


@pytest.mark.parametrize("fault", [faults.reset(), faults.refused()])
def test_a_lost_connection_gives_no_response(fault: Any) -> None:
    with MessagesAPI([fault, "danach"]).listen() as url, sync_client(url) as client:
        with pytest.raises(anthropic.APIConnectionError):
            client.messages.create(**CREATE)
        assert client.messages.create(**CREATE).content[0].to_dict() == {"type": "text", "text": "danach"}


def test_errors_come_through_a_socket() -> None:
    api = MessagesAPI([faults.spend_cap(), faults.too_large(), faults.error_event("x"), faults.http_error(529)])
    with api.listen() as url, sync_client(url) as client:
        for status, kind in (
            (429, "rate_limit_error"),
            (413, None),
            (200, "overloaded_error"),
            (529, "overloaded_error"),
        ):
            with pytest.raises(anthropic.APIStatusError) as caught, client.messages.stream(**CREATE) as stream:
                stream.get_final_message()
            assert (caught.value.status_code, caught.value.type) == (status, kind)


def test_a_client_that_hangs_up_ends_its_stream() -> None:
    api = MessagesAPI([faults.slow("eins zwei drei", between=3600)], deterministic=False)
    with api.listen() as url, sync_client(url) as client, client.messages.stream(**CREATE) as stream:
        assert next(iter(stream)).type == "message_start"
    # The server has stopped: the hour-long pause was given up, not waited for.
    assert api.requests[0].outcome == "abandoned"


def test_what_was_asked_can_be_read_over_http() -> None:
    api = MessagesAPI([reply("Ja", usage={"input_tokens": 1000, "output_tokens": 100})], keep=2)
    with api.listen() as url:
        for body in (REQUEST, {**REQUEST, "model": "claude-opus-5"}, {**REQUEST, "messages": []}):
            urllib_post(url, body)
        with urllib.request.urlopen(f"{url}/simulator/requests", timeout=20) as response:
            said = json.load(response)
    assert (said["count"], said["cost_usd"]) == (3, "0.006")
    assert said["usage"]["input_tokens"] == 1000
    assert [request["number"] for request in said["requests"]] == [2, 3]
    assert said["requests"][0]["refusal"]["rule"] == "script"
    assert said["requests"][1]["body"] == {**REQUEST, "messages": []}
    assert said["requests"][1]["refusal"]["message"] == "messages: at least one message is required"
    assert said["requests"][1]["refusal"]["repair"]
    assert "sk-ant-test" not in json.dumps(said)


def urllib_post(url: str, body: Any) -> int:
    request = urllib.request.Request(f"{url}/v1/messages", json.dumps(body).encode(), HEADERS)
    try:
        with urllib.request.urlopen(request, timeout=20) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


# ----- a server process ---------------------------------------------------------------------------------------------


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Any]:
    """Starts `serve` in a process of its own; gives it and its URL."""
    running: list[subprocess.Popen[str]] = []

    def start_one(arguments: str = "") -> tuple[subprocess.Popen[str], str]:
        code = f"from turnkeeper.simulator.serving import serve; serve({arguments})"
        process = subprocess.Popen(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path
        )
        running.append(process)
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("listening on http://127.0.0.1:"), line
        return process, line.removeprefix("listening on ").strip()

    yield start_one
    for process in running:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_server_says_where_it_listens_and_ends_quietly(start: Any, tmp_path: Path, number: int) -> None:
    (tmp_path / "script.json").write_text('["Guten Tag", {"fault": {"kind": "cut", "after": 1}, "reply": "x"}]')
    process, url = start("model='script.json'")
    assert json.loads(post(url, REQUEST))["content"][0]["text"] == "Guten Tag"
    with (
        sync_client(url) as client,
        pytest.raises(httpx2.RemoteProtocolError),
        client.messages.stream(**CREATE) as stream,
    ):
        stream.get_final_message()
    process.send_signal(number)
    output, errors = process.communicate(timeout=20)
    assert (process.returncode, output, errors) == (0, "", "")


def test_a_server_ends_in_the_middle_of_a_stream(start: Any, tmp_path: Path) -> None:
    slow = {"fault": {"kind": "slow", "between": 3600}, "reply": "eins zwei"}
    (tmp_path / "script.json").write_text(json.dumps([slow]))
    process, url = start("model='script.json'")
    with sync_client(url) as client, client.messages.stream(**CREATE) as stream:
        assert next(iter(stream)).type == "message_start"
        process.send_signal(signal.SIGTERM)
        output, errors = process.communicate(timeout=20)
    assert (process.returncode, output, errors) == (0, "", "")


def test_a_body_over_32_megabytes_meets_the_proxy() -> None:
    api = MessagesAPI("klein")
    with api.listen() as url, sync_client(url) as client:
        with pytest.raises(anthropic.APIStatusError) as caught:
            client.messages.create(**{**CREATE, "messages": [{"role": "user", "content": "x" * (33 << 20)}]})
        assert (caught.value.status_code, caught.value.type) == (413, None)
        assert client.messages.create(**CREATE).stop_reason == "end_turn"


def test_a_server_answers_with_the_practice_model_by_default(start: Any) -> None:
    _, url = start()
    with sync_client(url) as client:
        message = client.messages.create(**CREATE)
    assert message.stop_reason == "end_turn"
    assert message.id.startswith("msg_01")


def test_a_port_that_is_taken_is_a_clear_error() -> None:
    with MessagesAPI().listen() as url:
        port = int(url.rsplit(":", 1)[1])
        with pytest.raises(ConfigurationError, match=rf"can't listen on 127\.0\.0\.1 port {port}: "):
            serve(port=port)


def test_a_bad_script_is_a_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "script.json"
    path.write_text("[1]")
    with pytest.raises(InputError, match=r"script\.json: replies\[0\]: expected a text"):
        serve(model=str(path))
    with pytest.raises(InputError, match=r"missing\.json: can't be read"):
        find_model(str(tmp_path / "missing.json"))


def test_ipv6_has_its_brackets() -> None:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return  # a machine without IPv6
    with listening(MessagesAPI("x").exchange, host="::1") as url:
        assert url.startswith("http://[::1]:")
        assert json.loads(post(url, REQUEST))["content"][0]["text"] == "x"


@pytest.mark.parametrize("host", ["attacker.example", "localhost.attacker.example", "127.0.0.1.nip.example", "", "["])
def test_what_was_asked_is_not_told_under_a_name_of_somebody_elses(host: str) -> None:
    """A page that points its own name at this machine could read it (DNS rebinding)."""
    api = MessagesAPI(["secret"])
    with api.listen() as url:
        urllib_post(url, REQUEST)
        address, _, port = url.removeprefix("http://").partition(":")
        for sent in (f"Host: {host}:{port}\r\n", f"Host: 127.0.0.1\r\nHost: {host}\r\n"):
            with socket.create_connection((address, int(port)), timeout=20) as connection:
                head = f"GET /simulator/requests HTTP/1.1\r\n{sent}Connection: close\r\n\r\n"
                connection.sendall(head.encode())
                answer = b"".join(iter(lambda: connection.recv(65_536), b"")).decode()
            assert answer.split()[1] in ("421", "400")
            assert "secret" not in answer
        for name in (url, url.replace("127.0.0.1", "localhost")):
            with urllib.request.urlopen(f"{name}/simulator/requests", timeout=20) as response:
                assert json.load(response)["count"] == 1
