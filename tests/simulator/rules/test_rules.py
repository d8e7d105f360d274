"""Every rule takes what the API takes and refuses what it refuses, with its text, its place and its status."""

from __future__ import annotations

import re

import pytest

from tests.simulator.rules.asked import Case
from tests.simulator.rules.cases import CASES
from turnkeeper.simulator.rules import RULES

RULE_IDS = [rule.id for rule in RULES]
TAKEN = [case for case in CASES if case.message is None]
REFUSED = [case for case in CASES if case.message is not None]


def names(cases: list[Case]) -> list[str]:
    return [f"{case.rule}: {case.title}" for case in cases]


@pytest.mark.parametrize("case", TAKEN, ids=names(TAKEN))
def test_a_request_inside_the_border_is_taken_by_every_rule(case: Case) -> None:
    assert case.faults() == []


@pytest.mark.parametrize("case", REFUSED, ids=names(REFUSED))
def test_a_request_outside_the_border_is_refused_with_text_place_and_status(case: Case) -> None:
    faults = case.faults()
    assert faults, "nothing was refused"
    first = faults[0]
    assert (first.rule, first.path, first.message) == (case.rule, case.path, case.message)
    assert (first.status, first.error_type, first.details) == (case.status, case.error_type, case.details)


def test_every_rule_has_a_request_that_it_takes_and_one_that_it_refuses() -> None:
    assert sorted({case.rule for case in TAKEN}) == sorted(RULE_IDS)
    assert sorted({case.rule for case in REFUSED}) == sorted(RULE_IDS)


def test_no_two_cases_of_a_rule_have_the_same_title() -> None:
    titles = names(list(CASES))
    assert sorted(titles) == sorted(set(titles))


def test_rule_ids_are_unique_stable_slugs() -> None:
    assert len(RULE_IDS) == len(set(RULE_IDS))
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*\.[a-z0-9]+(-[a-z0-9]+)*", rule_id) for rule_id in RULE_IDS)


@pytest.mark.parametrize("rule", RULES, ids=RULE_IDS)
def test_a_rule_says_where_it_comes_from_what_it_is_and_how_to_mend_it(rule: object) -> None:
    source, sentence, repair = (getattr(rule, name) for name in ("source", "sentence", "repair"))
    assert re.search(r"https://|anthropic/(types|lib)/", source)
    assert sentence.endswith(".")
    assert repair.endswith((".", "}."))
