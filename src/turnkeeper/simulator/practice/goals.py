"""What the user is after: the goal that a conversation works on, updated by each message and each result.

A conversation is folded from its beginning at every request, because the practice model keeps no state. Messages of
users set goals and fill what is missing; results of tools give facts; nothing else does either.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from turnkeeper.simulator.practice.mentions import ORDER_MASK, Contact, Message
from turnkeeper.simulator.practice.outcomes import Kind, Record, read_change, read_lookup
from turnkeeper.simulator.practice.phrasebook import Phrasebook
from turnkeeper.simulator.practice.transcript import Result
from turnkeeper.simulator.practice.words import folded, normal, tokens

__all__ = ("Goal", "State", "hear", "learn", "pick", "refers")

SMALL_TALK = ("never_mind", "who", "help", "thanks", "bye", "greet")
TASKS = {
    "cancelled": "order",
    "may_cancel": "cancel",
    "cancel": "cancel",
    "change_email": "contact",
    "change_phone": "contact",
    "change_contact": "contact",
    "orders": "orders",
    "order": "order",
    "account": "account",
}
NOUNS = {"order_named": "order", "account_named": "account"}
"""Intents that a bare noun shows: they begin a goal, but never push an open one aside."""

PRIORITY = ("never_mind", "yes", *TASKS, "who", "help", *NOUNS, "thanks", "bye", "greet")

CONTACT_KINDS = {"change_email": "email", "change_phone": "phone"}
ORDINALS = {"first": 0, "second": 1, "third": 2, "last": -1}
TELLING = 6
"""Letters that make one word of a product's name enough to tell it by; shorter names must be named whole."""


@dataclass(frozen=True, slots=True)
class Goal:
    """One thing to do: `intent` is `account`, `orders`, `order`, `cancel` or `contact`.

    `since` is the index of the turn that began it (results from there on count), `asked` the message that did. `also`
    are orders that are only asked about while others are cancelled; `wanted` the contact fields to change and `values`
    their new values; `awaiting` what was asked for last; `confirmed` is false while it was only asked whether an order
    can be cancelled.
    """

    intent: str
    since: int
    asked: Message
    orders: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    wanted: tuple[str, ...] = ()
    values: Mapping[str, str] = field(default_factory=dict)
    awaiting: str = ""
    confirmed: bool = True
    done: bool = False


@dataclass(frozen=True, slots=True)
class State:
    """What the conversation has established.

    `heard` is the small talk in the last message, `nothing` if it wasn't understood, else empty; `listed` the orders
    last listed, `focus` those last spoken of; `known` the last record seen of each order.
    """

    goal: Goal | None = None
    who: Contact | None = None
    customer: Record | None = None
    known: Mapping[str, Record] = field(default_factory=dict)
    listed: tuple[str, ...] = ()
    focus: tuple[str, ...] = ()
    heard: str = ""


def hear(book: Phrasebook, state: State, message: Message, turn: int) -> State:
    """The state after a user's message."""
    found = _intents(book, message.masked)
    intent = next((one for one in PRIORITY if one in found), "")
    state = replace(state, heard="")
    if intent == "never_mind":
        return replace(state, goal=None, heard=intent)
    if intent in SMALL_TALK and not message.names_something:
        return replace(state, heard=intent)
    is_open = state.goal is not None and not state.goal.done
    if intent == "yes" and is_open and state.goal is not None and state.goal.awaiting == "yes":
        return replace(state, goal=replace(state.goal, confirmed=True))
    if intent in TASKS:
        return _begin(book, state, TASKS[intent], message, turn, found)
    if is_open:
        return _fill(book, state, message, turn)
    if intent in NOUNS:
        return _begin(book, state, NOUNS[intent], message, turn, found)
    return _follow_up(book, state, message, turn)


def learn(book: Phrasebook, state: State, results: Iterable[Result]) -> State:
    """The state after results: who the customer is, and what is known of orders."""
    for result in results:
        role = book.role(result.call.name)
        if role == "change_contact":
            state = _changed(book, state, result)
        if role not in ("find_customer", "list_orders", "find_order"):
            continue
        records = [record for record in read_lookup(book, result).records if role == "find_customer" or "id" in record]
        if role == "find_customer" and records:
            state = replace(state, customer=records[0])
        elif records:
            ids = tuple(dict.fromkeys(record["id"] for record in records))
            state = replace(state, known={**state.known, **{record["id"]: record for record in records}})
            if role == "list_orders":
                state = replace(state, listed=ids, focus=ids)
    goal = state.goal
    if goal is not None and goal.orders:
        listed = goal.orders if len(goal.orders) > 1 else state.listed
        state = replace(state, focus=goal.orders, listed=listed)
    return state


def _changed(book: Phrasebook, state: State, result: Result) -> State:
    """The customer with the contact that a change has made the current one."""
    goal = state.goal
    values = {} if goal is None else {kind: value for kind, value in goal.values.items() if value in _given(result)}
    if state.customer is None or not values or read_change(book, result, values).kind is not Kind.DONE:
        return state
    who = state.who
    if who is not None and who.kind in values:
        who = replace(who, value=values[who.kind])
    return replace(state, customer={**state.customer, **values}, who=who)


def _given(result: Result) -> set[str]:
    return {value for value in result.call.input.values() if isinstance(value, str)}


def refers(book: Phrasebook, text: str, reference: str) -> bool:
    """Whether masked text holds one of the phrasebook's references: `it`, `both`, `all`, `first`, …"""
    return any(
        (pattern := language.references.get(reference)) is not None and pattern.search(text) is not None
        for language in book.languages.values()
    )


def pick(
    book: Phrasebook, message: Message, ids: tuple[str, ...], known: Mapping[str, Record]
) -> tuple[str, ...] | None:
    """The orders among `ids` that a message points at by place, number, status or product.

    Empty if it may mean several of them, None if it points at none.
    """
    if not ids:
        return None
    if refers(book, message.masked, "all") or (len(ids) == 2 and refers(book, message.masked, "both")):
        return ids
    for reference, place in ORDINALS.items():
        if refers(book, message.masked, reference):
            return (ids[place],) if place < len(ids) else ()
    said = set(tokens(message.text))
    meant = [one for one in ids if _describes(book, known.get(one, {}), said, message.masked)]
    return None if not meant else (meant[0],) if len(meant) == 1 else ()


def _intents(book: Phrasebook, masked: str) -> set[str]:
    return {
        name
        for language in book.languages.values()
        for name, pattern in language.intents.items()
        if pattern.search(masked)
    }


def _begin(book: Phrasebook, state: State, intent: str, message: Message, turn: int, found: set[str]) -> State:
    if intent == "orders" and message.orders:
        intent = "order"
    if intent == "contact":
        wanted = tuple(kind for name, kind in CONTACT_KINDS.items() if name in found)
        return _contact(state, Goal(intent, turn, message, wanted=wanted), message)
    state = _identify(state, message)
    orders = _orders(book, state, intent, message)
    goal = Goal(intent, turn, message, orders=orders, confirmed="may_cancel" not in found)
    if intent == "cancel" and "order" in found and len(goal.orders) > 1:
        also = _only_asked_about(book, message)
        goal = replace(goal, orders=tuple(one for one in goal.orders if one not in also), also=also)
    return replace(
        state, goal=goal if goal.orders or not goal.also else replace(goal, intent="order", orders=goal.also)
    )


def _orders(book: Phrasebook, state: State, intent: str, message: Message) -> tuple[str, ...]:
    if message.orders or intent not in ("order", "cancel"):
        return message.orders
    chosen = pick(book, message, state.listed or state.focus, state.known)
    if chosen is None and len(state.focus) == 1 and (intent == "order" or _points_back(book, message)):
        return state.focus
    return chosen or ()


def _only_asked_about(book: Phrasebook, message: Message) -> tuple[str, ...]:
    """The orders in a message that the words nearest before them only ask about ("cancel A and where is B?")."""
    words = sorted(
        (found.end(), name)
        for language in book.languages.values()
        for name in ("cancel", "order")
        if name in language.intents
        for found in language.intents[name].finditer(message.masked)
    )
    asked: dict[str, bool] = {}
    for number, place in zip(message.numbers, re.finditer(f"{ORDER_MASK}+", message.masked), strict=False):
        before = [name for end, name in words if end <= place.start()]
        after = [name for end, name in words if end > place.start()]
        name = before[-1] if before else after[0] if after else "cancel"
        asked[number] = asked.get(number, True) and name == "order"
    return tuple(number for number, only in asked.items() if only)


def _points_back(book: Phrasebook, message: Message) -> bool:
    """Whether "cancel …" can only mean the order last spoken of: it says "it", or names nothing at all.

    Cancelling can't be undone, so a thing that is named but not known ("cancel the toaster") is asked about.
    """
    if refers(book, message.masked, "it"):
        return True
    left, plain = message.masked, set[str]()
    for language in book.languages.values():
        plain |= language.words | language.hints
        for name in ("cancel", "order_named", "greet", "thanks"):
            left = language.intents[name].sub(" ", left) if name in language.intents else left
    return all(word in plain or set(word) <= plain for word in tokens(left))


def _fill(book: Phrasebook, state: State, message: Message, turn: int) -> State:
    """A message without an intent of its own answers what the open goal asked for."""
    goal = state.goal
    assert goal is not None
    if goal.awaiting == "code" and not message.names_something:
        return state  # the code itself is never said here: whatever is said, it may have been entered by now
    if goal.awaiting in ("who", "order_or_who") and message.alone and not _is_plain(book, message.alone):
        message = replace(message, contacts=(Contact("username", message.alone),))
    if message.orders and goal.intent in ("order", "cancel"):
        return replace(_identify(state, message), goal=replace(goal, orders=message.orders))
    if message.orders:
        return _begin(book, state, "order", message, turn, set())
    if goal.intent == "contact" and message.contacts:
        return _contact(state, goal, message)
    chosen = pick(book, message, state.listed or state.focus, state.known) if goal.awaiting == "order" else ()
    if chosen:
        return replace(state, goal=replace(goal, orders=chosen))
    if message.contacts or message.customer:
        return _identify(state, message)
    return replace(state, heard="nothing")


def _follow_up(book: Phrasebook, state: State, message: Message, turn: int) -> State:
    """A message without an intent and with nothing open: a value alone asks about that value."""
    if message.orders:
        return _begin(book, state, "order", message, turn, set())
    if message.contacts or message.customer:
        last = state.goal.intent if state.goal is not None else ""
        return _begin(book, state, last if last in ("orders", "account") else "account", message, turn, set())
    chosen = pick(book, message, state.listed, state.known)
    if chosen:
        return replace(state, goal=Goal("order", turn, message, orders=chosen))
    return replace(state, heard="nothing")


def _is_plain(book: Phrasebook, word: str) -> bool:
    return any(folded(word) in language.words | language.hints for language in book.languages.values())


def _contact(state: State, goal: Goal, message: Message) -> State:
    """Sort the named contacts into new values and the one that says whose account it is."""
    fields = ("email", "phone")
    values, wanted, others = dict(goal.values), list(goal.wanted), []
    for contact in message.contacts:
        new = contact.use == "new" or (
            not contact.use and contact.kind in wanted and contact.kind not in values and goal.awaiting != "who"
        )
        if new and contact.kind in fields:
            values[contact.kind] = contact.value
            wanted.extend([] if contact.kind in wanted else [contact.kind])
        else:
            others.append(contact)
    # Asked only for the new value, a person answers with it, whatever words stand around ("my e-mail is …").
    if goal.awaiting == "value" and len(others) == 1 and others[0].kind in (wanted or fields) and not values:
        values[others[0].kind] = others.pop().value
        wanted = wanted or list(values)
    state = _identify(state, replace(message, contacts=tuple(others)))
    return replace(state, goal=replace(goal, wanted=tuple(wanted), values=values))


def _identify(state: State, message: Message) -> State:
    """Another customer is meant if the message names a contact that isn't the known customer's."""
    if message.customer:
        named = Contact("id", message.customer)
    elif message.contacts:
        named = message.contacts[0]
    else:
        return state
    ours = (state.customer or {}).get(named.kind)
    if ours is not None and _plain(ours) == _plain(named.value):
        return state
    return replace(state, who=named, customer=None, known={}, listed=(), focus=())


def _plain(value: str) -> str:
    """A contact as it is compared: case and punctuation of phone numbers don't matter."""
    text = folded(normal(value))
    return text if "@" in text else re.sub(r"[ ().\-/]", "", text)


def _describes(book: Phrasebook, record: Record, said: set[str], masked: str) -> bool:
    name = tokens(record.get("product", ""))
    if any(len(word) >= TELLING and word in said for word in name) or (name and said.issuperset(name)):
        return True
    status = folded(normal(record.get("status", "")))
    names = {status} | {folded(normal(language.statuses.get(status, ""))) for language in book.languages.values()}
    return any(one and re.search(rf"(?<!\w){re.escape(one)}(?!\w)", masked) for one in names)
