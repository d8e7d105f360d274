"""An encyclopedia as the only tool of the user's own: look up what a question is about, answer with a sentence of it.

Which tools are one, and the words that ask, stand in the phrasebook. The subject is what is quoted, else the names
with capital letters, else what is left of a question without the words that ask.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from turnkeeper.simulator.practice.mentions import Message
from turnkeeper.simulator.practice.phrasebook import Language, Phrasebook
from turnkeeper.simulator.practice.transcript import Call, Offer, Result
from turnkeeper.simulator.practice.words import folded, tokens

__all__ = ("lookups", "read_out")

MOST = 4
"""Subjects of one question that are looked up."""
LONGEST = 1_000
"""Characters of an article that one answer quotes."""

QUOTED = re.compile(r"\"([^\"]{1,200})\"")
WORD = re.compile(r"[^\W\d_][\w'-]*\.?|\S")
LINKS = frozenset({"of", "de", "du", "di", "da", "van", "von", "der", "la", "le", "the"})
"""Words without a capital letter that a name may have inside."""
ENDS = re.compile(r"(?<=[.!?])\s+(?=[^\sa-zа-я])|(?<=[。！？])")
MARK = re.compile(r"</?[\w-]+(?: [^<>]*)?>")
SOURCE = re.compile(r"(.+?) <https?://\S+>")


def lookups(book: Phrasebook, offer: Offer, message: Message) -> tuple[Call, ...]:
    """A call for each subject of the message; none where it asks about nothing."""
    if len(offer.required) != 1:
        return ()
    return tuple(Call(offer.name, {offer.required[0]: subject}) for subject in _subjects(book, message)[:MOST])


def read_out(book: Phrasebook, language: Language, message: Message, results: Iterable[Result]) -> str:
    """For each article the sentence that shares most words with the question, with the article's title."""
    said = set(tokens(message.text))
    lines = []
    for result in results:
        subject = next((str(value) for value in result.call.input.values()), "")
        if result.is_error:
            reason = book.reason(language, result.text)
            lines.append(language.say("own_failed", tool=result.call.name, reason=reason))
            continue
        title, text = _read(result.text)
        sentence = _best_sentence(text, said - set(tokens(subject)))
        lines.append(f"{title}: {sentence}" if title else sentence)
    return "\n".join(dict.fromkeys(lines))


def _subjects(book: Phrasebook, message: Message) -> list[str]:
    quoted = QUOTED.findall(message.text)
    asks = book.articles["asks"].search(message.folded)
    if quoted or not (asks or "?" in message.text):
        return quoted if asks or "?" in message.text else []
    if any(char.isdigit() for char in message.text) and any(sign in message.text for sign in book.operators):
        return []  # a sum
    rest = _without(book.articles["asks"], message)
    names = list(dict.fromkeys(_names(rest)))
    if names:
        return names
    rest = re.sub(
        r"^(?:an?|the|la|le|les|l'|une?|der|die|das|eine?) ", "", rest.strip(" .?!,？。"), flags=re.IGNORECASE
    )
    return [rest] if asks and 1 <= len(rest) <= 80 else []


def _names(text: str) -> list[str]:
    """Runs of words with capital letters, and the small words inside them."""
    names: list[list[str]] = [[]]
    for word in WORD.findall(text):
        if word[0] != word[0].lower() or (word in LINKS and names[-1]):
            names[-1].append(word)
        else:
            names.append([])
    runs = [" ".join(run) for run in names if run]
    return [re.sub(rf"(?: (?:{'|'.join(sorted(LINKS))}))+$", "", run).strip(" .") for run in runs]


def _without(asks: re.Pattern[str], message: Message) -> str:
    """The message without the words that ask; the folded text is as long as the text itself."""
    chars = list(message.text)
    for hit in asks.finditer(message.folded):
        chars[hit.start() : hit.end()] = " " * (hit.end() - hit.start())
    return re.sub(r"\s+", " ", "".join(chars)).strip()


def _read(text: str) -> tuple[str, str]:
    """Title and body of an article; what stands around it (marks of whoever passed it on) is left out."""
    lines = text.splitlines()
    at = next((index for index, line in enumerate(lines) if SOURCE.fullmatch(line)), None)
    found = SOURCE.fullmatch(lines[at]) if at is not None else None
    body = lines[at + 1 :] if at is not None else lines
    return (found[1] if found else ""), "\n".join(line for line in body if not MARK.fullmatch(line.strip()))


def _best_sentence(text: str, wanted: set[str]) -> str:
    """Of the text's sentences, the one that has most of the wanted words; the first of them in doubt."""
    lines = [
        line
        for line in text.splitlines()
        if line.strip() and not line.startswith(("[", "=")) and not SOURCE.match(line)
    ]
    listed = [line for line in lines if line.startswith("- ")]
    if listed:
        return " ".join(lines)[:LONGEST]
    sentences = [one.strip() for line in lines for one in ENDS.split(line) if one.strip()]
    if not sentences:
        return text.strip()[:LONGEST]
    return max(sentences, key=lambda one: len(wanted & set(tokens(folded(one)))))[:LONGEST]
