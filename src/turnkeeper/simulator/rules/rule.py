"""What a rule of the Messages API is, and what it says about a request that breaks it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from turnkeeper.simulator.rules.view import RequestView

__all__ = ("Check", "Fault", "Finding", "Rule", "rule")


@dataclass(frozen=True, slots=True)
class Finding:
    """One place where a rule is broken: where, and the text that the API answers with.

    `repair` replaces the rule's general advice where the place allows a better one.
    """

    path: str
    message: str
    details: dict[str, Any] | None = None
    repair: str | None = None


@dataclass(frozen=True, slots=True)
class Fault:
    """A rule broken by a request: what the API would answer, and how to mend it.

    `path` is `messages.{i}.content.{j}` with indexes into the lists as they were sent. `details` is the member of that
    name in the error envelope.
    """

    rule: str
    path: str
    error_type: str
    status: int
    message: str
    repair: str
    details: dict[str, Any] | None = None


Check: TypeAlias = "Callable[[RequestView], Iterable[Finding]]"


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: stable id, where it comes from, one sentence, the check, and what to do about it.

    `scope` is "envelope" for what only a live request has (headers, size, required fields, the model's existence) and
    "body" for everything that a saved request or message list can be checked against. `text_settled` is False where
    the server's wording is not known. `open_question` says what about the rule is not settled. A `final` rule ends
    the evaluation when it is broken, because the rules after it could not read the request.
    """

    id: str
    source: str
    sentence: str
    repair: str
    check: Check
    scope: Literal["envelope", "body"] = "body"
    text_settled: bool = True
    open_question: str = ""
    error_type: str = "invalid_request_error"
    status: int = 400
    final: bool = False

    def faults(self, view: RequestView) -> list[Fault]:
        """Every place in the request that breaks this rule, in the order of the request."""
        return [
            Fault(
                rule=self.id,
                path=finding.path,
                error_type=self.error_type,
                status=self.status,
                message=finding.message,
                repair=finding.repair or self.repair,
                details=finding.details,
            )
            for finding in self.check(view)
        ]


def rule(  # noqa: PLR0913 - a rule has that many parts, all named where it is made
    rule_id: str,
    *,
    source: str,
    sentence: str,
    repair: str,
    scope: Literal["envelope", "body"] = "body",
    text_settled: bool = True,
    open_question: str = "",
    error_type: str = "invalid_request_error",
    status: int = 400,
    final: bool = False,
) -> Callable[[Check], Rule]:
    """Make a Rule of the check function below."""

    def made(check: Check) -> Rule:
        return Rule(
            id=rule_id,
            source=source,
            sentence=sentence,
            repair=repair,
            check=check,
            scope=scope,
            text_settled=text_settled,
            open_question=open_question,
            error_type=error_type,
            status=status,
            final=final,
        )

    return made
