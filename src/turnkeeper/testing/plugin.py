"""The pytest plugin: Turnkeeper's test parts as fixtures. It loads nothing but pytest until a fixture is used."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from turnkeeper.testing import FixedClock, FixedIds, MessagesAPI

__all__ = ("fixed_clock", "fixed_ids", "messages_api")


@pytest.fixture
def fixed_clock() -> FixedClock:
    """A clock that stands still until the test moves it (`turnkeeper.testing.FixedClock`)."""
    from turnkeeper.testing import FixedClock  # noqa: PLC0415

    return FixedClock()


@pytest.fixture
def fixed_ids() -> FixedIds:
    """Ids that count: `fixed_ids("toolu")` gives `toolu_000001`, `toolu_000002`, …"""
    from turnkeeper.testing import FixedIds  # noqa: PLC0415

    return FixedIds()


@pytest.fixture
def messages_api(fixed_clock: FixedClock, fixed_ids: FixedIds) -> Iterator[Callable[..., MessagesAPI]]:
    """Makes simulated APIs: `api = messages_api("first reply", "second reply", **options)`.

    Options are those of `MessagesAPI`. They share the test's `fixed_clock` and `fixed_ids`. When the test ends they
    are closed, and the test fails if one of them refused a request; pass `refusals="allow"` where refusals are what
    the test is about.
    """
    from turnkeeper.testing import MessagesAPI, Script, script  # noqa: PLC0415

    made: list[tuple[MessagesAPI, str]] = []

    def make(*replies: Any, refusals: str = "fail", **options: Any) -> MessagesAPI:
        if refusals not in ("fail", "allow"):
            raise ValueError(f"refusals is 'fail' or 'allow', not {refusals!r}")
        answers: Any = replies[0] if len(replies) == 1 and isinstance(replies[0], Script) else script(*replies)
        answers = None if options.get("practice") and not replies else answers
        api = MessagesAPI(answers, **{"clock": fixed_clock, "ids": fixed_ids, **options})
        made.append((api, refusals))
        return api

    yield make
    for api, _ in made:
        api.close()
    for api, refusals in made:
        if refusals == "fail":
            api.assert_all_accepted()
