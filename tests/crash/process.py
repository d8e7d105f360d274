"""What one process does with the conversation, until it is done or killed."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, cast

import anthropic
import anyio
import httpx2

import turnkeeper as tk
from tests.crash.points import Points
from tests.crash.scenario import MESSAGES, Asked, Scenario, result_of
from tests.crash.tools import Desk, open_desk, tools_of
from tests.crash.watching import Pace, WatchedJournal, WatchedTransport
from tests.crash.world import World
from turnkeeper.errors import ConversationBusyError, InputError
from turnkeeper.journal import Journal, open_journal

__all__ = ("CONVERSATION", "Job", "run")

CONVERSATION = "c-24601"
CUSTOMER = tk.Principal("customer", "1213210")
ANA = tk.Principal("staff", "ana")
SHORT = 0.3
"""Seconds of a lease that is renewed soon."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What a process is started with. `folder` holds the world's file, and takes what the process reports.

    `acts` are, in order: `user` (the customer's program sends the messages that have no answer yet), `recover` (a
    worker does what waits), `staff` (a person decides what waits for one, after a look at the world), `post` (the
    customer's messages are left in the inbox), `moves on` (the customer writes on without waiting), `report`.
    """

    journal: str
    api: str
    folder: str
    scenario: Scenario
    acts: tuple[str, ...]
    kill: str | int | None = None

    def to_json(self) -> str:
        """For another process."""
        return json.dumps(asdict(self), ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Job:
        """What `to_json` gave."""
        given = json.loads(text)
        scenario = given.pop("scenario")
        calls = tuple(Asked(**one) for one in scenario.pop("calls"))
        return cls(**{**given, "acts": tuple(given["acts"])}, scenario=Scenario(**scenario, calls=calls))


@dataclass(slots=True)
class _Process:
    keeper: tk.Keeper
    job: Job
    world: World
    points: Points
    report: dict[str, Any] = field(default_factory=dict)

    async def user(self) -> None:
        conversation = await self.keeper.conversation(CONVERSATION, principal=CUSTOMER)
        for number, text in enumerate(MESSAGES):
            turn = conversation.send(text, key=f"message-{number}")
            try:
                async for update in turn:
                    self.points.at(f"user sees {update.type}")
            except (InputError, ConversationBusyError) as error:
                if "was answered in an earlier turn" not in str(error):
                    raise
                continue
            if turn.reply is None or turn.reply.status is not tk.TurnStatus.COMPLETED:
                break

    async def post(self) -> None:
        for number, text in enumerate(MESSAGES):
            await self.keeper.post(CONVERSATION, text, key=f"message-{number}", principal=CUSTOMER)

    async def moves_on(self) -> None:
        conversation = await self.keeper.conversation(CONVERSATION, principal=CUSTOMER)
        await conversation.send(MESSAGES[1], key="message-1", when_busy="interrupt")

    async def recover(self) -> None:
        replies = await self.keeper.recover()
        self.report.setdefault("recovered", []).extend(str(reply.status) for reply in replies)

    async def staff(self) -> None:
        for waiting in await self.keeper.approvals.list():
            self.report["decided"] = self.report.get("decided", 0) + 1
            await self._decide(waiting.id, waiting.digest)
        for unknown in await self.keeper.outcomes.list():
            happened = self.world.happened(unknown.key)
            self.report.setdefault("resolved", []).append("happened" if happened else "did not happen")
            if happened:
                order = next(entry.order for entry in self.world.entries() if entry.key == unknown.key)
                result = result_of(unknown.tool, order)
                await self.keeper.outcomes.happened(CONVERSATION, unknown.call_id, by=ANA, result=result)
            else:
                await self.keeper.outcomes.did_not_happen(CONVERSATION, unknown.call_id, by=ANA)

    async def _decide(self, approval: str, digest: str) -> None:
        desk = self.keeper.approvals
        if self.job.scenario.decision == "deny":
            await desk.deny(approval, by=ANA, reason="слишком дорого")
        elif self.job.scenario.decision == "edit":
            await desk.edit(approval, by=ANA, input={"order": "13579"})
        else:
            await desk.approve(approval, by=ANA, digest=digest)

    async def tell(self) -> None:
        """The `report`: what the conversation has come to."""
        self.report["points"] = tuple(self.points.passed)  # what follows is no part of the scenario
        conversation = await self.keeper.conversation(CONVERSATION, principal=CUSTOMER)
        problems = await self.keeper.journal.verify(CONVERSATION)
        self.report |= {
            "status": None if conversation.status is None else str(conversation.status),
            "messages": conversation.messages,
            "events": [event.type for event in await self.keeper.journal.read(CONVERSATION)],
            "problems": [problem.message for problem in problems],
        }


async def _work(job: Job) -> None:
    folder = Path(job.folder)
    world = World(folder / "world")
    points = Points(job.kill, folder / "died-at")
    points.watch_commits()
    pace = Pace()
    open_desk(Desk(job.scenario, world, points, pace))
    sdk = anthropic.AsyncAnthropic(
        api_key="key",
        base_url=job.api,
        max_retries=0,
        http_client=httpx2.AsyncClient(transport=WatchedTransport(points), timeout=30),
    )
    agent = tk.Agent(
        model="claude-opus-4-8",
        max_tokens=1000,
        tools=tools_of(job.scenario),
        client=sdk,
        stream=job.scenario.stream,
        lease_seconds=SHORT if job.scenario.slow else 30,
    )
    journal = await open_journal(job.journal)
    watched = WatchedJournal(journal, points, pace)
    async with agent.open(cast(Journal, watched)) as keeper:
        process = _Process(keeper, job, world, points)
        acts: dict[str, Callable[[], Any]] = {
            "user": process.user,
            "post": process.post,
            "moves on": process.moves_on,
            "recover": process.recover,
            "staff": process.staff,
            "report": process.tell,
        }
        for act in job.acts:
            await acts[act]()
    await journal.aclose()
    await sdk.close()
    process.report.setdefault("points", points.passed)
    (folder / "report").write_text(json.dumps(process.report, ensure_ascii=False), "utf-8")


def run(job: Job) -> None:
    """Do it all."""
    anyio.run(_work, job)
