"""docs/workers.md: its example runs, and its claims about options hold."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from tests.docs.blocks import read_blocks
from turnkeeper.workers import open_dispatcher, run_worker, serve_worker

PAGE = Path(__file__).resolve().parents[2] / "docs" / "workers.md"
URL = "postgresql+psycopg://desk@db/desk"


@pytest.mark.anyio
async def test_the_example_of_posting_runs(postgres_database: str) -> None:
    (block,) = [one for one in read_blocks(PAGE) if one.language == "python" and "open_dispatcher" in one.text]
    body = "".join(f"    {line}\n" for line in block.text.replace(URL, postgres_database).splitlines())
    names: dict[str, object] = {}
    exec(f"async def example():\n{body}", names)  # noqa: S102 - the page's own code
    example = names["example"]
    assert inspect.iscoroutinefunction(example)
    await example()
    async with open_dispatcher(postgres_database) as dispatcher:
        assert [one.key for one in await dispatcher.journal.queued("c-42")] == ["sms-77"]


def test_the_page_names_options_that_there_are() -> None:
    names = inspect.signature(serve_worker).parameters
    (block,) = [one for one in read_blocks(PAGE) if one.language == "python" and "run_worker(" in one.text]
    for name in ("concurrency", "rate", "inject"):
        assert name in names
        assert f"{name}=" in block.text
    assert inspect.isfunction(run_worker)
