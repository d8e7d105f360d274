"""Tools that aren't the desk's: call the one that a message plainly means, then pass its result on.

A tool is meant when words of the message stand in its name or description and its required arguments are in the
message. Two tools that fit equally well are none: the practice model doesn't guess.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from turnkeeper.simulator.practice.arguments import Filled, fill, words_of_name
from turnkeeper.simulator.practice.mentions import Message
from turnkeeper.simulator.practice.outcomes import seems_temporary
from turnkeeper.simulator.practice.phrasebook import Language, Phrasebook
from turnkeeper.simulator.practice.transcript import Call, Offer, Result
from turnkeeper.simulator.practice.words import tokens

__all__ = ("best_call", "calls_meant", "pass_on", "still_to_make")

STEM = 4
"""Letters from which two words count as forms of one ("convert", "converter")."""

PLAIN = 2
"""Values in a message that show which tool is meant though its name isn't mentioned ("multiply 12 by 7")."""

SHORTEST = 3
"""Letters of the shortest word that is compared, in scripts that need that many."""

LONGEST = 4_000
"""Characters of results that one reply passes on."""


def calls_meant(
    book: Phrasebook, offers: Iterable[Offer], message: Message, previous: Iterable[str]
) -> tuple[Call, ...]:
    """The calls that a message asks for, none if no tool or more than one is meant.

    `previous` names the tools of the turn before: "and in Tokyo?" means them again.
    """
    said, before = _said(book, message), set(previous)
    ranked: list[tuple[int, Offer, Filled]] = []
    for offer in offers:
        score = _likeness(offer, said)
        filled = fill(book, offer.schema, message, {})
        if filled is None or not (score or filled.found >= PLAIN or (offer.name in before and filled.found)):
            continue
        ranked.append((score + 2 * filled.found + (offer.name in before), offer, filled))
    ranked.sort(key=lambda one: -one[0])
    if not ranked or (len(ranked) > 1 and ranked[0][0] == ranked[1][0]):
        return ()
    _, offer, filled = ranked[0]
    return tuple(Call(offer.name, given) for given in (filled.input, *filled.others))


def best_call(book: Phrasebook, offers: Iterable[Offer], message: Message, known: Mapping[str, Any]) -> Call | None:
    """The call to make when the caller demands one: the likeliest tool with the best arguments there are."""
    said = _said(book, message)
    ranked = []
    for offer in offers:
        honest, filled = fill(book, offer.schema, message, known), fill(book, offer.schema, message, known, forced=True)
        if filled is not None:
            ranked.append((_likeness(offer, said) + 2 * filled.found + 3 * (honest is not None), offer, filled))
    if not ranked:
        return None
    _, offer, filled = max(ranked, key=lambda one: one[0])
    return Call(offer.name, filled.input)


def still_to_make(book: Phrasebook, calls: Iterable[Call], results: tuple[Result, ...]) -> tuple[Call, ...]:
    """The calls that have no result yet, and those whose only result is an error that may pass."""
    pending = []
    for call in calls:
        answers = [one for one in results if one.call.name == call.name and dict(one.call.input) == dict(call.input)]
        if not answers or (len(answers) == 1 and seems_temporary(book, answers[0])):
            pending.append(call)
    return tuple(pending)


def pass_on(book: Phrasebook, language: Language, results: Iterable[Result]) -> str:
    """The results in words: what each tool returned, or that it reported an error, and which."""
    last: dict[tuple[str, str], Result] = {}
    for result in results:
        last[result.call.name, repr(sorted(result.call.input.items(), key=lambda item: str(item[0])))] = result
    lines = []
    for result in last.values():
        if result.is_error or not result.text.strip():
            reason = book.reason(language, result.text)
            lines.append(
                language.say("own_failed" if result.is_error else "own_empty", tool=result.call.name, reason=reason)
            )
        else:
            lines.append(result.text.strip()[:LONGEST])
    return "\n".join(lines)[:LONGEST]


def _said(book: Phrasebook, message: Message) -> set[str]:
    """The words of a message that carry meaning, with the tools' words for them added."""
    plain = frozenset[str]().union(*(language.words for language in book.languages.values()))
    words = {word for word in tokens(message.text) if len(word) >= SHORTEST or not word.isascii()} - plain
    words |= {name for name, pattern in book.glossary.items() if pattern.search(message.masked)}
    signs = {word for sign, word in book.operators.items() if sign in message.text}
    if signs and any(char.isdigit() for char in message.text):
        words |= signs | {"calculate"}
    return words


def _likeness(offer: Offer, said: set[str]) -> int:
    name, about = set(words_of_name(offer.name)), set(tokens(offer.description))
    points = 0
    for word in said:
        if any(_akin(word, one) for one in name):
            points += 3
        elif any(_akin(word, one) for one in about):
            points += 1
    return points


def _akin(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    stem = max(STEM, len(short) - 2)
    return one == other or (len(short) >= STEM and (long.startswith(short[:stem]) or long.endswith(short)))
