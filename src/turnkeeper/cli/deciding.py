"""The work of `approvals`."""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable
from typing import Any

import click

from turnkeeper.cli.conversing import this_person
from turnkeeper.cli.escapes import clean_line, json_text
from turnkeeper.cli.exits import Exit
from turnkeeper.cli.interrupts import in_loop
from turnkeeper.cli.looking import opened_journal
from turnkeeper.cli.problems import CommandError
from turnkeeper.cli.tables import Column
from turnkeeper.cli.terminal import Terminal
from turnkeeper.cli.toolbox import load_tools
from turnkeeper.cli.wording import journal_option, moment, way_on
from turnkeeper.driver.people import Approval, Approvals, Outcomes, UnknownOutcome, may_decide
from turnkeeper.errors import ArgumentsRejectedError
from turnkeeper.tools import Registry
from turnkeeper.types import Principal

__all__ = ("approve", "deny", "edit", "list_waiting", "resolve")


def list_waiting(url: str | None, *, output_format: str, color: bool) -> int:
    """A table of what waits, or a JSON list."""
    terminal = Terminal(color=color)

    async def work() -> int:
        async with opened_journal(url) as journal:
            approvals = await Approvals(journal, Registry(), may_decide, time.time).list()
            unknown = await Outcomes(journal, Registry(), may_decide, time.time).list()
        if output_format == "json":
            found = [*map(_approval_json, approvals), *map(_unknown_json, unknown)]
            terminal.answer(json_text(found, indent=2) + "\n")
        elif not approvals and not unknown:
            terminal.note("Nothing waits for a person.", "plain")
        else:
            _print(terminal, approvals, unknown, journal_option(url))
        return Exit.DONE

    return in_loop(work)


def _print(terminal: Terminal, approvals: list[Approval], unknown: list[UnknownOutcome], where: str) -> None:
    columns = [
        Column("id", stretch="cut", least=20),
        Column("call", stretch="wrap", least=30),
        Column("why", rank=2),
        Column("for", rank=3),
        Column("until", rank=1),
    ]
    rows = [
        [
            clean_line(one.id),
            clean_line(f"{one.tool} {json_text(one.input)}"),
            clean_line(one.policy),
            clean_line(f"{one.requester.kind} {one.requester.id}") if one.requester else "",
            moment(one.expires_at),
        ]
        for one in approvals
    ]
    rows += [
        [
            clean_line(f"{one.conversation_id} {one.call_id}"),
            clean_line(f"{one.tool} {json_text(one.input)}"),
            "outcome unknown",
            clean_line(f"{one.requester.kind} {one.requester.id}") if one.requester else "",
            "",
        ]
        for one in unknown
    ]
    terminal.table(columns, rows)
    if approvals:
        terminal.note(f"`turnkeeper approvals approve ID{where}` decides, or `deny` or `edit` in place of `approve`.")
    if unknown:
        terminal.note(
            f"Where the outcome is unknown: `turnkeeper approvals happened CONVERSATION CALL{where}`, or"
            " `did-not-happen` in place of `happened`."
        )


def _approval_json(one: Approval) -> dict[str, Any]:
    who = one.requester
    return {
        "kind": "approval",
        "id": one.id,
        "conversation": one.conversation_id,
        "call": one.call_id,
        "tool": one.tool,
        "input": one.input,
        "digest": one.digest,
        "policy": one.policy,
        "policy_version": one.policy_version,
        "requested_at": one.requested_at,
        "expires_at": one.expires_at,
        "requester": None if who is None else {"kind": who.kind, "id": who.id, "level": who.level},
        "requester_level": one.requester_level,
    }


def _unknown_json(one: UnknownOutcome) -> dict[str, Any]:
    who = one.requester
    return {
        "kind": "unknown_outcome",
        "conversation": one.conversation_id,
        "call": one.call_id,
        "tool": one.tool,
        "input": one.input,
        "key": one.key,
        "started_at": one.started_at,
        "requester": None if who is None else {"kind": who.kind, "id": who.id, "level": who.level},
    }


def approve(url: str | None, approval_id: str, *, by: str | None, digest: str | None) -> int:
    """Approve one."""
    return _decided(url, (), lambda desk: desk.approve(approval_id, by=_staff(by), digest=digest), "approved")


def deny(url: str | None, approval_id: str, *, by: str | None, reason: str) -> int:
    """Deny one."""
    return _decided(url, (), lambda desk: desk.deny(approval_id, by=_staff(by), reason=reason), "denied")


def edit(url: str | None, approval_id: str, *, given: str, tools: tuple[str, ...], by: str | None, reason: str) -> int:
    """Approve one with other arguments."""
    try:
        arguments = json.loads(given)
    except ValueError as error:
        raise CommandError(f"--input is not JSON: {error}", exit_code=Exit.USAGE) from error
    return _decided(
        url,
        tools,
        lambda desk: desk.edit(approval_id, by=_staff(by), input=arguments, reason=reason),
        "approved with other arguments",
    )


def _decided(
    url: str | None, tools: tuple[str, ...], decide: Callable[[Approvals], Awaitable[Approval]], word: str
) -> int:
    terminal = Terminal()
    registry = Registry(load_tools(tools))

    async def work() -> int:
        async with opened_journal(url) as journal:
            try:
                approval = await decide(Approvals(journal, registry, may_decide, time.time))
            except ArgumentsRejectedError as error:
                raise _as_said_to_a_person(error) from None
        _say(terminal, f"{approval.tool} is {word}", approval.conversation_id, url, tools)
        return Exit.DONE

    return in_loop(work)


def resolve(url: str | None, conversation_id: str, call_id: str, *, by: str | None, result: str | None) -> int:
    """Say what became of a call; `result` None: it did not happen."""
    terminal = Terminal()

    async def work() -> int:
        async with opened_journal(url) as journal:
            outcomes = Outcomes(journal, Registry(), may_decide, time.time)
            if result is None:
                await outcomes.did_not_happen(conversation_id, call_id, by=_staff(by))
            else:
                await outcomes.happened(conversation_id, call_id, by=_staff(by), result=result)
        _say(terminal, "written down", conversation_id, url, ())
        return Exit.DONE

    return in_loop(work)


def _staff(name: str | None) -> Principal:
    """Who decides: whom `--by` names, else whoever sits here. UsageError for a name that is none."""
    if name is not None and not name.strip():
        raise click.UsageError("--by names nobody: give the name of whoever decides, or leave it out")
    return Principal("staff", this_person() if name is None else name.strip())


def _as_said_to_a_person(error: ArgumentsRejectedError) -> CommandError:
    """What is said to a model of its arguments, said to whoever typed them."""
    faults = [line.removeprefix("- ") for line in str(error).splitlines() if line.startswith("- ")]
    said = "; ".join(faults) or str(error)
    return CommandError(f"--input: the arguments don't fit the tool, so nothing was decided: {said}")


def _say(terminal: Terminal, what: str, conversation_id: str, journal: str | None, tools: tuple[str, ...]) -> None:
    way = way_on(conversation_id, None, journal=journal, tools=tools)
    same = "" if tools else ", with the same tools (-T) as before"
    terminal.answer(clean_line(f"{what}; the conversation goes on with {way}{same}") + "\n")
