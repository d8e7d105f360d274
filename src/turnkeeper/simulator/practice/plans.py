"""What to do next at the desk: call tools, ask for what is missing, or answer from the results.

`next_step` looks at the goal and at the results since it began, and never issues a call whose result is there, except
once more when the result was an error that may pass. So a plan always ends.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias

from turnkeeper.simulator.practice.arguments import fill
from turnkeeper.simulator.practice.goals import Goal, State, pick
from turnkeeper.simulator.practice.outcomes import (
    Kind,
    Outcome,
    Record,
    read_change,
    read_lookup,
    seems_temporary,
)
from turnkeeper.simulator.practice.phrasebook import Language, Phrasebook
from turnkeeper.simulator.practice.transcript import Call, Offer, Result
from turnkeeper.simulator.practice.wording import account_line, order_line, order_lines, order_name

__all__ = ("Ask", "Do", "Plan", "Say", "Step", "knowledge", "next_step")

READS = ("find_customer", "list_orders", "find_order")
CHANGES = ("cancel_order", "change_contact")


@dataclass(frozen=True, slots=True)
class Do:
    """Make these calls."""

    calls: tuple[Call, ...]


@dataclass(frozen=True, slots=True)
class Ask:
    """Say `text` and wait until `awaiting` is known: `who`, `order`, `order_or_who`, `value`, `yes` or `code`."""

    text: str
    awaiting: str


@dataclass(frozen=True, slots=True)
class Say:
    """Say `text`; the goal is done."""

    text: str


Step: TypeAlias = Do | Ask | Say


class _StepReachedError(Exception):
    """The plan can't go further than this step."""

    def __init__(self, step: Step) -> None:
        super().__init__()
        self.step = step


def next_step(plan: Plan) -> Step:
    """The next step for the goal of a plan's state."""
    way = {
        "account": plan.account,
        "orders": plan.orders,
        "order": plan.order,
        "cancel": plan.cancel,
        "contact": plan.contact,
    }[plan.goal.intent]
    try:
        plan.prove()
        return Say(way())
    except _StepReachedError as reached:
        return reached.step


def knowledge(state: State) -> dict[str, Any]:
    """What the conversation has established, under the names that tools' parameters have."""
    known: dict[str, Any] = {}
    who, goal = state.who, state.goal
    if who is not None and who.kind != "id":
        known = {"key": who.kind, "value": who.value, who.kind: who.value}
    customer = (state.customer or {}).get("id") or (who.value if who is not None and who.kind == "id" else None)
    if customer:
        known["customer_id"] = customer
    orders = (goal.orders if goal is not None else ()) or state.focus
    if orders:
        known["order_id"] = orders[0]
    return {**known, **(goal.values if goal is not None else {})}


@dataclass(frozen=True, slots=True)
class Plan:
    """One goal, what is offered for it, and the results since it began."""

    book: Phrasebook
    language: Language
    offers: Mapping[str, Offer]
    state: State
    goal: Goal
    results: tuple[Result, ...]

    def prove(self) -> None:
        """Where nothing is offered but to prove who somebody is, have that done first."""
        if self._role("confirm_identity") is None or any(self._role(role) for role in (*READS, *CHANGES)):
            return
        if self.state.who is None or self.state.who.kind == "id":
            raise _StepReachedError(Ask(self.language.say("ask_who"), "who"))
        result = self._results("confirm_identity", [self._identity()])[0]
        if result.is_error:
            self._pass_on(Outcome(Kind.FAILED, result.text))
        raise _StepReachedError(Ask(self.language.say("code_asked"), "code"))

    def account(self) -> str:
        """Find the account and tell what is on it."""
        self._customer()
        if self.state.customer is None:
            self._pass_on(self._found("find_customer", self._identity()))
        return account_line(self.language, self.state.customer or {})

    def orders(self) -> str:
        """List the orders."""
        return order_lines(self.language, self._list(), self.state.customer)

    def order(self) -> str:
        """Tell about the orders that were named; without a number, about those that the account has."""
        ids = self.goal.orders
        if not ids:
            self._need_list()
            records = self._list()
            chosen = pick(self.book, self.goal.asked, tuple(records), records) or ()
            if len(chosen) == 1:
                return order_line(self.language, records[chosen[0]])
            return order_lines(self.language, records, self.state.customer)
        found = self._orders(ids)
        if not any(outcome.kind is Kind.FOUND for outcome in found.values()):
            self._ask_again(found)
        return "\n".join(self._order_outcome(one, outcome) for one, outcome in found.items())

    def cancel(self) -> str:
        """Look the orders up, cancel those that exist, and tell how each one went."""
        if self._role("cancel_order") is None:
            raise _StepReachedError(Say(self.language.say("cannot_here")))
        ids = self.goal.orders or self._choose()
        looked_up = bool(self._role("find_order") or self.goal.orders == () or self.goal.also)
        found = self._orders((*ids, *self.goal.also)) if looked_up else {}
        if found and not any(outcome.kind is Kind.FOUND for outcome in found.values()):
            self._ask_again(found)
        wanted = [one for one in ids if one not in found or found[one].kind is Kind.FOUND]
        if not self.goal.confirmed:
            known = [self._order_outcome(one, outcome) for one, outcome in found.items()]
            raise _StepReachedError(Ask("\n".join([*known, self.language.say("ask_confirm")]), "yes"))
        results = self._results("cancel_order", [{"order_id": one} for one in wanted])
        lines = [self._order_outcome(one, outcome) for one, outcome in found.items() if one not in wanted]
        for one, result in zip(wanted, results, strict=True):
            outcome = read_change(self.book, result, {"status": "cancelled"})
            name = order_name(one, self.state.known.get(one, {}))
            lines.append(
                self._change_outcome(outcome, self.language.say("cancelled", order=name), "not_cancelled", order=name)
            )
        return "\n".join(lines)

    def contact(self) -> str:
        """Change the e-mail address or the phone number."""
        offer = self._role("change_contact")
        if offer is None:
            raise _StepReachedError(Say(self.language.say("cannot_here")))
        if "customer_id" in offer.properties:
            self._customer()
        wanted, values = self.goal.wanted, self.goal.values
        missing = [one for one in wanted if one not in values]
        if missing or not wanted:
            text = " ".join(self.language.say(f"ask_{one}") for one in missing) or self.language.say("ask_contact")
            raise _StepReachedError(Ask(text, "value"))
        whole = not offer.properties or all(one in offer.properties for one in wanted)
        meanings = [dict(values)] if whole else [self._field(one, values[one]) for one in wanted]
        results = self._results("change_contact", meanings)
        lines = []
        for index, one in enumerate(wanted):
            result = results[0 if whole else index]
            outcome = read_change(self.book, result, {one: values[one]})
            lines.append(
                self._change_outcome(outcome, self.language.say(f"changed_{one}", value=values[one]), "not_changed")
            )
        return "\n".join(dict.fromkeys(lines))

    def _field(self, kind: str, value: str) -> dict[str, Any]:
        """A change for a tool that takes the field's name and its value."""
        return {
            **dict.fromkeys(("field", "key", "kind", "contact"), kind),
            **dict.fromkeys(("value", "new_value", f"new_{kind}", kind), value),
        }

    def _role(self, role: str) -> Offer | None:
        return next((self.offers[name] for name in self.offers if self.book.role(name) == role), None)

    def _customer(self) -> None:
        """Make sure that it is known whose account is meant, or reach the step that finds out."""
        state = self.state
        if state.customer is not None or (state.who is not None and state.who.kind == "id"):
            return
        offer = self._role("find_customer")
        if offer is None:
            raise _StepReachedError(Say(self.language.say("cannot_here")))
        if state.who is None and (offer.required or not offer.schema):
            raise _StepReachedError(Ask(self.language.say("ask_who"), "who"))
        outcome = self._found("find_customer", self._identity())
        if outcome.kind is Kind.ABSENT:
            value = state.who.value if state.who is not None else ""
            raise _StepReachedError(Ask(self.language.say("customer_absent", value=value), "who"))
        if outcome.kind is not Kind.FOUND:
            self._pass_on(outcome)

    def _identity(self) -> dict[str, Any]:
        who = self.state.who
        return {} if who is None else {"key": who.kind, "value": who.value, who.kind: who.value}

    def _need_list(self) -> None:
        """Without an order's number, either the number or whose orders they are must be known."""
        offer, finder = self._role("list_orders"), self._role("find_customer")
        reachable = offer is not None and ("customer_id" not in offer.properties or finder is not None)
        if offer is None or not reachable:
            raise _StepReachedError(Ask(self.language.say("ask_order"), "order"))
        anyone = self.state.customer is not None or self.state.who is not None
        if not anyone and "customer_id" in offer.properties:
            raise _StepReachedError(Ask(self.language.say("ask_order_or_who"), "order_or_who"))

    def _list(self) -> dict[str, Record]:
        offer = self._role("list_orders")
        if offer is None:
            raise _StepReachedError(Say(self.language.say("cannot_here")))
        if "customer_id" in offer.properties or not offer.schema:
            self._customer()
        outcome = self._found("list_orders", {})
        if outcome.kind not in (Kind.FOUND, Kind.ABSENT):
            self._pass_on(outcome)
        return {record["id"]: record for record in outcome.records if "id" in record}

    def _choose(self) -> tuple[str, ...]:
        """The orders to cancel when no number was given: the only one, or the ones pointed at; else ask."""
        known = {one: self.state.known[one] for one in self.state.listed if one in self.state.known}
        if known and not self.results:
            raise self._which(known)
        self._need_list()
        records = self._list()
        if not records:
            raise _StepReachedError(Say(self.language.say("no_orders")))
        chosen = pick(self.book, self.goal.asked, tuple(records), records)
        if chosen:
            return chosen
        if len(records) == 1 and chosen is None:
            return tuple(records)
        raise self._which(records)

    def _which(self, records: Mapping[str, Record]) -> _StepReachedError:
        listing = order_lines(self.language, records, None, head=self.language.say("ask_which"))
        return _StepReachedError(Ask(listing, "order"))

    def _orders(self, ids: tuple[str, ...]) -> dict[str, Outcome]:
        """What is known of the orders; those that a list of this goal showed are not looked up again."""
        listed = {
            record["id"]: record
            for result in self.results
            if self.book.role(result.call.name) == "list_orders"
            for record in read_lookup(self.book, result).records
            if "id" in record
        }
        if self._role("find_order") is None:
            self._need_list()
            records = {**self._list(), **listed}
            return {one: _of(records.get(one)) for one in ids}
        asked = [one for one in ids if one not in listed]
        results = self._results("find_order", [{"order_id": one} for one in asked])
        looked_up = {one: read_lookup(self.book, result) for one, result in zip(asked, results, strict=True)}
        return {one: looked_up.get(one) or _of(listed.get(one)) for one in ids}

    def _found(self, role: str, meaning: Mapping[str, Any]) -> Outcome:
        return read_lookup(self.book, self._results(role, [meaning])[0])

    def _results(self, role: str, meanings: list[Mapping[str, Any]] | list[dict[str, Any]]) -> list[Result]:
        """The results of these calls; the step is to make the calls that have none yet."""
        offer = self._role(role)
        if offer is None:
            raise _StepReachedError(Say(self.language.say("cannot_here")))
        calls = [self._call(offer, meaning) for meaning in meanings]
        found = [self._answers(call) for call in calls]
        pending = [
            call
            for call, answers in zip(calls, found, strict=True)
            if not answers or (len(answers) == 1 and role in READS and seems_temporary(self.book, answers[0]))
        ]
        if pending:
            raise _StepReachedError(Do(tuple(pending)))
        return [answers[-1] for answers in found]

    def _call(self, offer: Offer, meaning: Mapping[str, Any]) -> Call:
        customer = knowledge(self.state).get("customer_id")
        known: dict[str, Any] = {"customer_id": customer} if customer else {}
        known.update(meaning)
        if not offer.properties:
            return Call(offer.name, {} if offer.schema else known)
        schema = {
            "properties": {
                name: inner for name, inner in offer.properties.items() if name in known or name in offer.required
            },
            "required": list(offer.required),
            "$defs": offer.schema.get("$defs"),
        }
        filled = fill(self.book, schema, self.goal.asked, known)
        if filled is None:
            lacking = next((name for name in offer.required if name not in known), "")
            raise _StepReachedError(Ask(self.language.say("ask_argument", name=lacking), "value"))
        return Call(offer.name, filled.input)

    def _answers(self, call: Call) -> list[Result]:
        values = {str(value) for value in call.input.values()}
        return [
            result
            for result in self.results
            if result.call.name == call.name and values <= {str(value) for value in result.call.input.values()}
        ]

    def _ask_again(self, found: Mapping[str, Outcome]) -> NoReturn:
        lines = [self._order_outcome(one, outcome) for one, outcome in found.items()]
        absent = all(outcome.kind is Kind.ABSENT for outcome in found.values())
        raise _StepReachedError(Ask("\n".join(lines), "order") if absent else Say("\n".join(lines)))

    def _order_outcome(self, order: str, outcome: Outcome) -> str:
        if outcome.kind is Kind.FOUND:
            return order_line(self.language, {"id": order, **outcome.records[0]})
        if outcome.kind is Kind.ABSENT:
            return self.language.say("order_absent", id=order)
        return self._words(outcome)

    def _change_outcome(self, outcome: Outcome, done: str, failed: str, **values: str) -> str:
        if outcome.kind is Kind.DONE:
            return done
        if outcome.kind is Kind.FAILED:
            return self.language.say(failed, reason=self.book.reason(self.language, outcome.text), **values)
        return self._words(outcome)

    def _pass_on(self, outcome: Outcome) -> NoReturn:
        raise _StepReachedError(Say(self._words(outcome)))

    def _words(self, outcome: Outcome) -> str:
        if outcome.kind is Kind.FAILED:
            return self.language.say("failed", reason=self.book.reason(self.language, outcome.text))
        return self.language.say("tool_said", text=" ".join(outcome.text.split())[:1000])


def _of(record: Record | None) -> Outcome:
    return Outcome(Kind.ABSENT) if record is None else Outcome(Kind.FOUND, "", (record,))
