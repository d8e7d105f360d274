"""What TechNova's rules say, word for word: answers about them are quoted from here, never made up.

The texts are `data/policy.json`, to be read and edited as text.
"""

from __future__ import annotations

import json
from importlib import resources
from typing import Literal

__all__ = ("RULES", "Topic", "quoted")

Topic = Literal["cancelling", "returns", "refunds", "shipping", "prices", "contacts"]

RULES: dict[str, str] = json.loads(
    (resources.files("turnkeeper.desk") / "data" / "policy.json").read_text(encoding="utf-8")
)
"""The rules by topic."""


def quoted(text: str) -> str:
    """A reply with each `[[rule:TOPIC]]` replaced by the rule's own words; a topic that there isn't becomes nothing.

    So a model can point at a rule, and can't change a word of it.
    """
    for topic, rule in RULES.items():
        text = text.replace(f"[[rule:{topic}]]", f"“{rule}”")
    before, mark, rest = text.partition("[[rule:")
    while mark:
        text = before + rest.partition("]]")[2]
        before, mark, rest = text.partition("[[rule:")
    return text
