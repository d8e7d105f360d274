"""The practice model: a request body in, the content of a reply out.

It is a rule-based stand-in for Claude inside the simulator, not a language model, and says so once in a conversation.
It keeps no state and knows nobody's data: everything comes from the request, every fact from a tool's result.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from turnkeeper.simulator.practice import articles, own_tools
from turnkeeper.simulator.practice.arguments import fill
from turnkeeper.simulator.practice.goals import State, hear, learn
from turnkeeper.simulator.practice.language import detect
from turnkeeper.simulator.practice.mentions import Message, read_message
from turnkeeper.simulator.practice.phrasebook import Language, Phrasebook, built_in
from turnkeeper.simulator.practice.plans import Ask, Do, Plan, Say, Step, knowledge, next_step
from turnkeeper.simulator.practice.transcript import Call, Offer, Transcript, Turn, read_request
from turnkeeper.simulator.practice.words import sendable

__all__ = ("PracticeModel",)

SELF_DESCRIPTIONS = ("note", "who")
CHANGES = ("cancel_order", "change_contact")
TAGS = ("reply", "answer")
"""Tags that a system prompt may ask for around what the user reads."""


class PracticeModel:
    """Answers requests of the Messages API by rule; see `docs/practice-model.md` for what it understands.

    `phrasebook` replaces the built-in one (`Phrasebook.read(file)` lays a file over it).
    """

    def __init__(self, phrasebook: Phrasebook | None = None) -> None:
        self._book = phrasebook or built_in()

    def answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """The reply's `content` and `stop_reason` for a request body.

        Blocks are `text` or `tool_use`; a `tool_use` block has no `id`, and the reply no usage: the server adds both.
        The request isn't judged: what has the wrong shape is passed over. The same request gets the same answer.
        """
        return _Answer.to(self._book, read_request(request)).reply()


@dataclass(frozen=True, slots=True)
class _Answer:
    """One request on its way to a reply."""

    book: Phrasebook
    transcript: Transcript
    language: Language
    message: Message
    state: State
    step: Step

    @classmethod
    def to(cls, book: Phrasebook, transcript: Transcript) -> _Answer:
        """Fold the conversation up to its last turn and see what comes next."""
        turns = transcript.turns or (Turn(),)
        language = detect(book, (turn.text for turn in reversed(turns)))
        desk = {name: offer for name, offer in transcript.offers.items() if book.role(name)}
        state, message, step = State(), read_message(book, ""), None
        for index, turn in enumerate(turns):
            message = read_message(book, turn.text)
            state, step = hear(book, state, message, index), None
            state = learn(book, state, turn.results)
            goal = state.goal
            if desk and goal is not None and not goal.done and (not state.heard or state.heard == "nothing"):
                results = tuple(result for one in turns[goal.since : index + 1] for result in one.results)
                step = next_step(Plan(book, language, desk, state, goal, results))
                awaiting = step.awaiting if isinstance(step, Ask) else ""
                state = replace(state, goal=replace(goal, awaiting=awaiting, done=isinstance(step, Say)))
        answer = cls(book, transcript, language, message, state, step or Say(""))
        return replace(answer, step=answer._settled(step, turns))

    def reply(self) -> dict[str, Any]:
        """The content of the reply."""
        calls = self._calls()
        if calls:
            blocks = [{"type": "tool_use", "name": call.name, "input": _sendable(dict(call.input))} for call in calls]
            return {"content": blocks, "stop_reason": "tool_use"}
        return {"content": [{"type": "text", "text": self._text()}], "stop_reason": "end_turn"}

    def _settled(self, step: Step | None, turns: tuple[Turn, ...]) -> Step:
        """The step at last: the desk's, or a tool of the user's own, or small talk."""
        turn, heard = turns[-1], self.state.heard
        if step is not None and heard != "nothing":
            return step
        mine = [offer for offer in self.transcript.offers.values() if self._is_own(offer.name)]
        results = tuple(result for result in turn.results if self._is_own(result.call.name))
        if len(mine) == 1 and self.book.is_encyclopedia(mine[0].name) and heard == "nothing":
            lookups = articles.lookups(self.book, mine[0], self.message)
            if lookups:
                return self._looked_up(lookups, turns)
        if heard != "never_mind" or results:
            before = {result.call.name for result in turns[-2].results} if len(turns) > 1 else set()
            calls = own_tools.calls_meant(self.book, mine, self.message, before)
            pending = own_tools.still_to_make(self.book, calls, results)
            if pending:
                return Do(pending)
            if results:
                return Say(own_tools.pass_on(self.book, self.language, results))
        if step is not None:
            return (
                replace(step, text=f"{self.language.say('not_understood')} {step.text}")
                if isinstance(step, Ask)
                else step
            )
        return Say(self._small_talk(turn))

    def _is_own(self, name: str) -> bool:
        return not self.book.role(name) and not self.book.is_messenger(name)

    def _looked_up(self, calls: tuple[Call, ...], turns: tuple[Turn, ...]) -> Step:
        """Articles that the conversation holds are not asked for again."""
        now = tuple(result for result in turns[-1].results if self._is_own(result.call.name))
        before = tuple(result for turn in turns[:-1] for result in turn.results if not result.is_error)
        pending = own_tools.still_to_make(self.book, calls, (*before, *now))
        if pending:
            return Do(pending)
        wanted = [dict(call.input) for call in calls]
        fitting = {str(dict(one.call.input)): one for one in (*before, *now) if dict(one.call.input) in wanted}
        ordered = [fitting[str(given)] for given in wanted]
        return Say(articles.read_out(self.book, self.language, self.message, ordered))

    def _small_talk(self, turn: Turn) -> str:
        say, heard = self.language.say, self.state.heard
        if heard in ("thanks", "bye"):
            return say(heard)
        if heard == "never_mind":
            return say("kept")
        if heard in ("greet", "who"):
            return f"{say(heard)} {self._abilities()}"
        if heard == "help":
            return self._abilities()
        return f"{say('unseen' if turn.unseen else 'not_understood')} {self._abilities()}"

    def _abilities(self) -> str:
        offers = self.transcript.offers
        # the desk's sentence promises changes: where only look-ups are offered, they are named instead
        desk = any(self.book.role(name) in CHANGES for name in offers)
        own = [name for name in offers if not self.book.is_messenger(name) and not (desk and self.book.role(name))]
        parts = [self.language.say("abilities_desk")] if desk else []
        parts += [self.language.say("abilities_own", tools=", ".join(own[:20]))] if own else []
        return " ".join(parts) or self.language.say("abilities_none")

    def _calls(self) -> tuple[Call, ...]:
        """The calls of the step, as far as the request's `tool_choice` lets them or demands others."""
        choice, offers = self.transcript.choice, self.transcript.offers
        calls = self.step.calls if isinstance(self.step, Do) else ()
        if choice.kind == "none" or not offers:
            return ()
        calls = calls or self._message_to_send()
        if choice.kind == "tool":
            named = [offers[choice.name]] if choice.name in offers else []
            calls = tuple(call for call in calls if call.name == choice.name) or self._forced(named)
        elif choice.kind == "any":
            calls = calls or self._forced(list(offers.values()))
        return calls if choice.parallel else calls[:1]

    def _message_to_send(self) -> tuple[Call, ...]:
        """What would be said, through a tool that carries it to the user; nothing if this turn has sent something."""
        carrier = next((offer for name, offer in self.transcript.offers.items() if self.book.is_messenger(name)), None)
        results = self.transcript.turns[-1].results if self.transcript.turns else ()
        sent = any(self.book.is_messenger(result.call.name) for result in results)
        if carrier is None or sent or len(carrier.required) != 1:
            return ()
        return (Call(carrier.name, {carrier.required[0]: self._said()}),)

    def _forced(self, offers: list[Offer]) -> tuple[Call, ...]:
        call = own_tools.best_call(self.book, offers, self.message, knowledge(self.state))
        return () if call is None else (call,)

    def _text(self) -> str:
        if self.transcript.schema is not None:
            return self._json(self.transcript.schema)
        return self._said()

    def _said(self) -> str:
        if isinstance(self.step, Do):
            text = self.language.say("tools_off" if self.transcript.offers else "abilities_none")
        else:
            text = self.step.text
        for tag in TAGS:
            text = text.replace(f"</{tag}>", "")
        text = sendable(text).strip() or self.language.say("not_understood")
        if not self._has_said_what_it_is(text):
            text = f"{text}\n\n{self.language.say('note')}"
        tag = next((one for one in TAGS if f"<{one}>" in self.transcript.system), "")
        return f"<{tag}>{text}</{tag}>" if tag else text

    def _json(self, schema: Mapping[str, Any]) -> str:
        """A demanded JSON format, filled from the message."""
        filled = fill(self.book, schema, self.message, {}, forced=True)
        return json.dumps(_sendable(filled.input if filled is not None else {}), ensure_ascii=False)

    def _has_said_what_it_is(self, text: str) -> bool:
        sentences = [language.say(one) for language in self.book.languages.values() for one in SELF_DESCRIPTIONS]
        sent = [
            str(value)
            for turn in self.transcript.turns
            for result in turn.results
            if self.book.is_messenger(result.call.name)
            for value in result.call.input.values()
        ]
        return any(sentence in said for said in (*self.transcript.said, *sent, text) for sentence in sentences)


def _sendable(value: Any) -> Any:
    """The value without lone surrogates, which no request can carry."""
    if isinstance(value, str):
        return sendable(value)
    if isinstance(value, dict):
        return {_sendable(key): _sendable(inner) for key, inner in value.items()}
    return [_sendable(inner) for inner in value] if isinstance(value, list) else value
