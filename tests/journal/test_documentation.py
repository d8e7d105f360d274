"""docs/journal.md: its tables name every column, and its queries run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import sqlalchemy as sa

from tests.docs.blocks import read_blocks
from tests.journal.samples import NOON, one_turn, said, started
from turnkeeper.errors import JournalError
from turnkeeper.journal import Journal, errors, schema

PAGE = Path(__file__).resolve().parents[2] / "docs" / "journal.md"
QUERIES = [
    query.strip()
    for block in read_blocks(PAGE)
    if block.language == "sql"
    for query in block.text.split(";")
    if query.strip()
]


def test_the_page_names_every_table_and_column() -> None:
    words = set(re.findall(r"`(\w+)`", PAGE.read_text("utf-8")))
    for table in schema.metadata.sorted_tables:
        assert table.name in words
        assert {column.name for column in table.columns} - {"number"} <= words


def test_the_page_names_every_error() -> None:
    page = PAGE.read_text("utf-8")
    for name in errors.__all__:
        assert issubclass(getattr(errors, name), JournalError)
        assert f"`{name}`" in page


@pytest.mark.anyio
async def test_the_queries_of_the_page_find_what_they_say(database_journal: Journal, database_url: str) -> None:
    await database_journal.append("c-42", one_turn(), after=0)
    await database_journal.append("c-43", [started(), said()], after=0)
    await database_journal.enqueue("c-43", '"дальше"', key="sms-7", principal=None, now=NOON)
    other = "::json" if "sqlite" in database_url else "payload ->>"
    engine = sa.create_engine(database_url, poolclass=sa.pool.NullPool)
    with engine.connect() as connection:
        found = [
            [tuple(row)[:2] for row in connection.exec_driver_sql(query)] for query in QUERIES if other not in query
        ]
    assert [row[0] for row in found[0]] == list(range(1, 10))
    assert found[1:] == [[("c-43", None)], [("c-43", "sms-7")], [("get_order", 1)], [("succeeded", 1)]]
