"""Failures: `ToolError` word for word, everything else neutral, the details in the log with secrets masked."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from turnkeeper.tools import Outcome, ToolContext, ToolError, mask, run_call, tool

pytestmark = pytest.mark.anyio


class OperationalError(Exception):
    pass


class Unprintable(Exception):  # noqa: N818 - the name is what the test looks for
    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


def raising(exception: BaseException) -> Callable[[], Any]:
    def work() -> None:
        raise exception

    return work


async def failed(exception: BaseException, **options: Any) -> Outcome:
    """The outcome of a tool that raises, sync and async alike."""
    work = raising(exception)

    async def work_async() -> None:
        work()

    outcomes = [
        await run_call(tool(function, name="work", **options), {}, error_ids=lambda: "7f3a9c12", clock=lambda: 0.0)
        for function in (work, work_async)
    ]
    assert outcomes[0] == outcomes[1]
    assert (outcomes[0].state, outcomes[0].is_error) == ("failed", True)
    return outcomes[0]


@pytest.mark.parametrize(
    "text", ["order 99 does not exist", "заказа 99 нет 🙁", "<b>\n two lines ", "password=hunter2"]
)
async def test_a_tool_error_reaches_the_model_word_for_word(text: str) -> None:
    outcome = await failed(ToolError(text))
    assert (outcome.content, outcome.error_id) == (text, None)


async def test_an_unexpected_exception_is_told_by_its_class_and_an_id_only(caplog: pytest.LogCaptureFixture) -> None:
    """Report B16-tool-error-leaks-dsn.

    https://github.com/nstfkc/gemi/issues/446
    """
    with caplog.at_level(logging.DEBUG):
        outcome = await failed(OperationalError("could not connect to postgresql://bot:S3cr3t-pw@db.internal/shop"))
    assert outcome.content == (
        "The tool failed (OperationalError, error id 7f3a9c12). Part of its work may have been done. "
        "The details are in the application's log."
    )
    assert outcome.error_id == "7f3a9c12"
    assert "error id 7f3a9c12" in caplog.text
    assert "Traceback (most recent call last)" in caplog.text
    assert "postgresql://bot:***@db.internal/shop" in caplog.text
    assert "S3cr3t-pw" not in caplog.text
    assert {record.name for record in caplog.records if record.levelno >= logging.ERROR} == {"turnkeeper.tools"}


async def test_what_only_reads_has_done_no_part_of_its_work() -> None:
    outcome = await failed(OperationalError(), effect="read")
    assert outcome.content == (
        "The tool failed (OperationalError, error id 7f3a9c12). The details are in the application's log."
    )


@pytest.mark.parametrize("exception", [ValueError(), TimeoutError(), StopIteration(), GeneratorExit(), SystemExit(3)])
async def test_an_exception_without_a_text_still_has_a_result(exception: BaseException) -> None:
    """Report B10-empty-error-message.

    https://github.com/jlevy/markform/issues/153
    """
    outcome = await failed_somehow(exception)
    assert str(outcome.content).startswith("The tool failed (")


async def test_a_very_long_text_in_an_exception_is_logged_short(caplog: pytest.LogCaptureFixture) -> None:
    await failed(OSError("x" * 500_000))
    assert len(caplog.text) < 150_000
    assert "characters were cut]" in caplog.text


async def failed_somehow(exception: BaseException) -> Outcome:
    # Python itself turns a StopIteration in a coroutine into a RuntimeError, so the two kinds differ there.
    for function in (raising(exception), _later(exception)):
        outcome = await run_call(tool(function, name="work"), {})
        assert (outcome.state, outcome.is_error) == ("failed", True)
    return outcome


def _later(exception: BaseException) -> Callable[[], Any]:
    async def work() -> None:
        await anyio.lowlevel.checkpoint()
        raise exception

    return work


async def test_a_missing_key_that_is_a_plain_word_is_named() -> None:
    outcome = await failed(KeyError("sku"), effect="read")
    assert outcome.content == (
        "The tool failed (KeyError, error id 7f3a9c12): 'sku' was looked up and not found. "
        "The details are in the application's log."
    )
    assert "'order_id' was looked up" in str((await failed(KeyError("order_id"))).content)
    assert "'ГОРОД' was looked up" in str((await failed(KeyError("ГОРОД"))).content)


@pytest.mark.parametrize(
    "key",
    ["sk-ant-SENTINEL0123456789", "ana@example.com", "Hunter", "c42", "", "_", "a" * 41, "two words", 7, ("sku",)],
)
async def test_a_missing_key_that_may_be_somebodys_is_not_named(key: Any) -> None:
    outcome = await failed(KeyError(key))
    assert str(outcome.content).startswith("The tool failed (KeyError, error id 7f3a9c12). ")


async def test_an_exception_that_cannot_be_printed_is_an_ordinary_failure(caplog: pytest.LogCaptureFixture) -> None:
    outcome = await failed(Unprintable())
    assert "(Unprintable, error id 7f3a9c12)" in str(outcome.content)
    assert "Unprintable" in caplog.text


@pytest.mark.parametrize("text", ["", "  \n"])
async def test_a_blank_tool_error_has_a_text_of_its_own(text: str) -> None:
    assert (await failed(ToolError(text))).content == "The tool failed without saying why."


async def test_a_tool_error_of_two_megabytes_is_cut_with_a_mark() -> None:
    outcome = await failed(ToolError("ж" * 2_000_000))
    text = str(outcome.content)
    assert len(text) <= 100_000
    assert text.endswith("of 2000000 characters were cut]")
    assert len(str((await failed(ToolError("x" * 1000), result_limit=200)).content)) <= 200


async def test_a_lone_surrogate_in_a_tool_error_becomes_a_replacement_character() -> None:
    assert (await failed(ToolError("нет \udc81"))).content == "нет �"


async def test_tool_errors_in_a_group_are_told_line_by_line_and_others_are_not() -> None:
    both = ExceptionGroup("tasks", [ToolError("first"), ExceptionGroup("more", [ToolError("второе")])])
    assert (await failed(both)).content == "first\nвторое"
    mixed = ExceptionGroup("tasks", [ToolError("first"), OSError("secret")])
    assert "(ExceptionGroup, error id 7f3a9c12)" in str((await failed(mixed)).content)


async def test_a_tool_error_may_keep_what_was_written_a_group_only_if_all_in_it_do() -> None:
    kept, undone = ToolError("записано", keep_writes=True), ToolError("no")
    assert (await failed(kept, effect="transactional")).keep_writes
    assert (await failed(ExceptionGroup("tasks", [kept, kept]))).keep_writes
    for exception in (undone, ExceptionGroup("tasks", [kept, undone]), OSError("gone")):
        assert not (await failed(exception, effect="transactional")).keep_writes


async def test_what_a_failed_transaction_did_is_undone_so_the_model_is_not_told_that_it_may_be_done() -> None:
    outcome = await failed(OSError("disk"), effect="transactional")
    assert outcome.content == (
        "The tool failed (OSError, error id 7f3a9c12). The details are in the application's log."
    )


async def test_a_result_that_cannot_be_sent_is_an_error_that_says_the_tool_finished() -> None:
    cyclic: list[Any] = []
    cyclic.append(cyclic)

    @tool
    def loop() -> list[Any]:
        return cyclic

    outcome = await run_call(loop, {}, error_ids=lambda: "e1", clock=lambda: 0.0)
    assert outcome == Outcome(
        state="failed",
        content="The tool finished, but its result can't be written as text (UnrenderableError, error id e1). "
        "The details are in the application's log.",
        is_error=True,
        error_id="e1",
    )


async def test_an_exception_in_a_generator_is_the_tools_own() -> None:
    def lines() -> Any:
        yield 1
        raise ToolError("line 2 is broken")

    async def lines_async() -> Any:
        yield 1
        raise ToolError("line 2 is broken")

    for function in (lines, lines_async):
        assert (await run_call(tool(function), {})).content == "line 2 is broken"


@pytest.mark.parametrize("wrapped", [False, True])
async def test_a_keyboard_interrupt_goes_through(wrapped: bool) -> None:
    exception: BaseException = KeyboardInterrupt()
    if wrapped:
        exception = BaseExceptionGroup("tasks", [ValueError(), exception])
    for function in (raising(exception), _later(exception)):
        with pytest.raises((KeyboardInterrupt, BaseExceptionGroup)):
            await run_call(tool(function, name="work"), {}, ToolContext())


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("postgresql+psycopg://bot:p@ss:w/rd@db/x tail", "postgresql+psycopg://bot:***@db/x tail"),
        ("redis://:pw@host", "redis://:***@host"),
        ("key sk-ant-SENTINEL0123456789.", "key sk-***."),
        ("Authorization: Bearer abc.def-123", "Authorization: Bearer ***"),
        ("{'password': 'hunter 2', 'user': 'ana'}", "{'password': ***, 'user': 'ana'}"),
        ('{"api_key":"x","a":1}', '{"api_key":***,"a":1}'),
        ("host=db password=hunter2 port=1", "host=db password=*** port=1"),
        ("CLIENT_SECRET=abc; next", "CLIENT_SECRET=***; next"),
        ("ghp_abcdefghij and AKIAABCDEFGHIJKLMNOP", "ghp_*** and AKIA***"),
        ("eyJhbGciOiJI.eyJzdWIiOiIx.c2ln", "***"),
        ("-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----", "***"),
        ("my_password_2 = hunter2", "my_password_2 = ***"),
        ("Authorization: Token abcdef, x", "Authorization: Token ***"),
        (
            "authorization: AWS4-HMAC-SHA256 Credential=A/2, Signature=b\nnext",
            "authorization: AWS4-HMAC-SHA256 ***\nnext",
        ),
        ("{'authorization': 'Token abc', 'x': 1}", "{'authorization': ***, 'x': 1}"),
        ("[(b'x-api-key', b'hunter2'), ('Cookie', 'a=b')]", "[(b'x-api-key', ***), ('Cookie', ***)]"),
        ("Cookie: session=abc; b=c", "Cookie: ***"),
        (r'"{\"password\": \"hunter2\", \"a\": 1}"', r'"{\"password\": ***, \"a\": 1}"'),
        (r'password="pa\"ss", x', "password=***, x"),
        ("password=b'x' tail", "password=*** tail"),
        ("password: 'cut off he", "password: ***"),
        ("password=a,b next", "password=*** next"),
        ("a=1,password=x,b=2", "a=1,password=***,b=2"),
        ("tokens: ['abc', 'def']", "tokens: ***"),
        ("https://tok3n@host/x", "https://***@host/x"),
        ("https://ghp_x:x-oauth-basic@github.com/a", "https://***@github.com/a"),
        ("https://x.example/?sig=abc&a=1&key=AB#f", "https://x.example/?sig=***&a=1&key=***#f"),
        ("curl --api-key abc123 --max-tokens 500", "curl --api-key *** --max-tokens 500"),
        ("AccountKey=abc==;EndpointSuffix=core", "AccountKey=***;EndpointSuffix=core"),
        ("<password>abc</password>", "<password>***</password>"),
        ("пароль: тайна, 密码：秘密", "пароль: ***, 密码：***"),
        ("Basic YTpiYzpk and bearer ABCDEFGH", "Basic *** and bearer ***"),
        ("token: 482913", "token: ***"),
        ("secret_reset_url=https://x.example/?token=abc", "secret_reset_url=https://x.example/?token=***"),
    ],
)
def test_masking_hides_secrets(text: str, masked: str) -> None:
    assert mask(text) == masked
    assert mask(masked) == masked


@pytest.mark.parametrize(
    "text",
    [
        "nothing to hide: order 7, https://example.com/a?b=c",
        "--max-tokens: must be 1 or more, not 0",
        "max_tokens: 32000 > 8192, which is the maximum",
        "thinking.budget_tokens: Input should be greater than or equal to 1024",
        "tokens_used=5, input_tokens: 12, maxTokens: 5, tokenCount=7, max_token: 5",
        "password: must be 8 characters; api_key: Field required; token_type: bearer",
        "Unexpected token: x in JSON",
        "basic information about bearer tokens; Basic examples",
        "tokenizer: cl100k, secretary: Ana, passwordless: on",
        "https://medium.example/@ana and postgresql://bot@host/db",
    ],
)
def test_masking_leaves_alone_what_is_no_secret(text: str) -> None:
    assert mask(text) == text


@pytest.mark.parametrize(
    "piece",
    [
        *("a", "a-", "eyJ-", "a://a:", "password-", "password ", "token='", "sk-", "Bearer ", "-----BEGIN PRIVATE KEY"),
        *(
            "--a-",
            "https://a",
            "tokens: ",
            "--token ",
            "'token','",
            "<token>",
            "token=a,b",
            "token:'x\\\\",
            "Bearer aa-",
        ),
    ],
)
def test_masking_takes_its_time_from_the_length_of_the_text_only(piece: str) -> None:
    assert mask(piece * (50_000 // len(piece)))
