"""Who is talking right now: the application is asked again whenever it matters, and the journal has each change."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from turnkeeper.core.events import IdentityChanged
from turnkeeper.core.identity import change_word, may_speak, reaches, same_person
from turnkeeper.driver.recorder import Recorder
from turnkeeper.driver.waiting import as_dict
from turnkeeper.errors import UnconfirmedError
from turnkeeper.tools import Registry
from turnkeeper.tools.threads import call_within
from turnkeeper.types import Principal

__all__ = ("IDENTITY_SECONDS", "Identity", "Standing", "hidden_from")

_log = logging.getLogger("turnkeeper")

IDENTITY_SECONDS = 10.0
"""How long the application may take to say who somebody is."""

Identity: TypeAlias = Callable[[Principal, str, float], "Principal | Awaitable[Principal]"]
"""Who a principal is: asked with the principal as it was given, the conversation's id, and the time at which the level
counts (seconds since 1970)."""


class Standing:
    """One conversation's principal: as the application gave it (`given`), and who that is now."""

    def __init__(
        self, given: Principal | None, *, conversation_id: str, identity: Identity | None, clock: Callable[[], float]
    ) -> None:
        self.given = given
        self.latest = given
        self._conversation_id = conversation_id
        self._identity = identity
        self._clock = clock

    async def now(self) -> Principal | None:
        """Who is talking, with the level that is proven at this moment; `latest` from then on."""
        self.latest = await self.at(self._clock())
        return self.latest

    async def at(self, moment: float) -> Principal | None:
        """Who was talking at that moment, unless the application has taken it back since.

        An application that fails to say so, or takes longer than `IDENTITY_SECONDS`, has nobody proven.
        """
        given = self.given
        if given is None or self._identity is None:
            return given
        try:
            found = await call_within(IDENTITY_SECONDS, self._identity, given, self._conversation_id, moment)
            if isinstance(found, Principal):
                return found
            _log.warning("the identity function gave no principal but %s: nobody is proven", type(found).__name__)
        except Exception as error:  # noqa: BLE001 - whatever it is, nobody may act on a level that can't be checked
            _log.warning("the identity function failed (%s): nobody is proven", type(error).__name__)
        return Principal(given.kind, given.id, "anonymous")

    async def refresh(self, recorder: Recorder) -> Principal | None:
        """Who is talking now; a change since the last time is noted."""
        who = await self.now()
        self.note(recorder, who)
        return who

    def note(self, recorder: Recorder, who: Principal | None) -> None:
        """Stage the change, if it is one."""
        before = recorder.state.who
        if who is None or who == before:
            return
        recorder.stage(
            IdentityChanged(
                at=self._clock(),
                principal=as_dict(who),
                reason=change_word(before, who),
            )
        )

    def check(self, recorder: Recorder) -> None:
        """UnconfirmedError if whoever is talking, as `now` said last, may not begin a turn here."""
        who, holder = self.latest, recorder.state.holder
        if not may_speak(who, holder):
            lost = holder is not None and who is not None and same_person(who, holder)
            raise UnconfirmedError(
                f"conversation {self._conversation_id!r} was held by somebody who had proven who they are"
                + (", and that has run out" if lost else "")
                + ": prove it again, or begin a new conversation"
            )


def hidden_from(registry: Registry, who: Principal | None) -> frozenset[str]:
    """The names of the tools that this principal's level does not reach."""
    return frozenset(tool.name for tool in registry.tools if not reaches(who, tool.requires))
