"""Which edition of a policy asked for an approval stands in its record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import turnkeeper as tk
from tests.driver.conftest import Make
from turnkeeper.testing import MessagesAPI, call, reply, script

pytestmark = pytest.mark.anyio


def above_a_hundred(arguments: Mapping[str, Any], principal: tk.Principal | None, conversation: str) -> bool:
    return int(arguments["amount"]) > 100


def above_two_hundred(arguments: Mapping[str, Any], principal: tk.Principal | None, conversation: str) -> bool:
    return int(arguments["amount"]) > 200


def edited(arguments: Mapping[str, Any], principal: tk.Principal | None, conversation: str) -> bool:
    return int(arguments["amount"]) > 100


edited.version = "апрель 2026"  # type: ignore[attr-defined]


@dataclass(frozen=True)
class Rules:
    above: int

    @property
    def version(self) -> str:
        return f"2, above {self.above}"

    def refunds(self, arguments: Mapping[str, Any], principal: tk.Principal | None, conversation: str) -> bool:
        return int(arguments["amount"]) > self.above


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/journal.db"


async def recorded(make: Make, url: str, policy: Any) -> str:
    @tk.tool(approval=policy)
    def refund(amount: int) -> str:
        """Refund."""
        return "refunded"

    api = MessagesAPI(script(reply(call("refund", {"amount": 500}))))
    async with make(api, tools=[refund]).open(url) as keeper:
        await (await keeper.conversation("c")).send("退款 🙂")
    async with make(api, tools=[refund]).open(url) as keeper:
        (waiting,) = await keeper.approvals.list()
        await keeper.journal.erase("c", by=tk.Principal("staff", "ana"), now=0)
    return waiting.policy_version


@pytest.mark.parametrize(
    ("policy", "version"),
    [("always", "always"), (edited, "апрель 2026"), (Rules(100).refunds, "2, above 100")],
)
async def test_the_version_that_a_policy_has_is_kept_with_the_approval(
    make: Make, url: str, policy: Any, version: str
) -> None:
    assert await recorded(make, url, policy) == version


async def test_a_policy_without_one_is_known_by_its_source(make: Make, url: str) -> None:
    first = await recorded(make, url, above_a_hundred)
    assert len(first) == 12
    assert int(first, 16) >= 0
    assert await recorded(make, url, above_a_hundred) == first
    assert await recorded(make, url, above_two_hundred) != first


async def test_a_policy_without_source_has_a_version_too(make: Make, url: str) -> None:
    found = []
    for limit in (100, 200):
        space: dict[str, Any] = {}
        exec(f"def policy(given, who, conversation): return given['amount'] > {limit}", space)  # noqa: S102 - no source
        found.append(await recorded(make, url, space["policy"]))
    assert [len(one) for one in found] == [12, 12]
    assert found[0] != found[1]
