"""How a text feels, by counting words: enough for trying an extraction out, and no judgement of a language model.

Words are compared folded; a stem stands for the words that begin with it. A negation before a word turns it around.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from turnkeeper.simulator.practice.words import EAST_ASIAN, tokens

__all__ = ("feeling", "scores")

GOOD = (
    *("love", "lovely", "great", "excellent", "happy", "wonderful", "good", "amazing", "awesome", "best", "enjoy"),
    *("delight", "fantastic", "perfect", "pleased", "thank", "nice", "glad", "recommend"),
    *("liebe", "toll", "gut", "wunderbar", "ausgezeichnet", "glucklich", "danke", "perfekt", "schon"),
    *("aime", "adore", "excellent", "merveilleu", "parfait", "bon", "heureu", "merci", "genial"),
    *("любл", "отлич", "прекрас", "хорош", "рад", "замечательн", "спасибо", "счастлив", "лучш"),
)
BAD = (
    *("hate", "awful", "terrible", "bad", "horrible", "worst", "angry", "sad", "disappoint", "broken", "poor", "annoy"),
    *("useless", "late", "rude", "disgust", "fail"),
    *("hasse", "schlecht", "schrecklich", "furchtbar", "kaputt", "enttausch", "argerlich", "traurig"),
    *("deteste", "mauvais", "horrible", "terrible", "decu", "casse", "triste"),
    *("ненавиж", "ужас", "плох", "отвратительн", "сломан", "грустн", "разочаров", "худш"),
)
GOOD_SIGNS, BAD_SIGNS = ("爱", "喜欢", "好", "棒", "谢谢", "开心"), ("讨厌", "糟", "坏", "差", "失望", "难过")
NOT = frozenset({"not", "no", "never", "don", "dont", "isn", "nicht", "kein", "keine", "pas", "не", "нет", "ни"})
WITHIN = 2
"""Words before another within which a negation is looked for."""
EXACT = 4
"""Letters below which a word must stand as it is: "bon" is no beginning of "bonus"."""


def scores(text: str) -> dict[str, float]:
    """`positive`, `negative` and `neutral`, each from 0.0 to 1.0, together 1.0."""
    words = tokens(text)
    good = bad = 0
    for place, word in enumerate(words):
        turned = bool(NOT & set(words[max(place - WITHIN, 0) : place]))
        liked, disliked = _is(word, GOOD), _is(word, BAD)
        good += (liked and not turned) or (disliked and turned)
        bad += (disliked and not turned) or (liked and turned)
    if re.search(f"[{EAST_ASIAN}]", text):
        turned = bool(re.search("不|没", text))
        seen = [sum(text.count(sign) for sign in signs) for signs in (GOOD_SIGNS, BAD_SIGNS)]
        good, bad = good + seen[turned], bad + seen[not turned]
    found = good + bad
    sure = min(0.7 + 0.1 * found, 1.0) if found else 0.0
    positive, negative = (round(sure * count / found, 2) if found else 0.0 for count in (good, bad))
    return {"positive": positive, "negative": negative, "neutral": round(1.0 - positive - negative, 2)}


def feeling(name: tuple[str, ...], schema: Mapping[str, Any], text: str) -> Any:
    """The value of a property that asks how the text feels; None of any other.

    That is a number whose name has one of positive, negative and neutral in it, scaled to the property's maximum, or a
    choice between such words.
    """
    options = schema.get("enum")
    if isinstance(options, list):
        named = {str(option).casefold(): option for option in options}
        if not {"positive", "negative"} <= named.keys():
            return None
        found = scores(text)
        if "mixed" in named and min(found["positive"], found["negative"]) > 0:
            return named["mixed"]
        ranked = [one for one in sorted(found, key=lambda one: -found[one]) if one in named]
        return named[ranked[0]]
    asked = next((word for word in ("positive", "negative", "neutral") if word in name), None)
    if asked is None or schema.get("type") != "number":
        return None
    most = schema.get("maximum", 1)
    scale = most if isinstance(most, (int, float)) and not isinstance(most, bool) and most > 0 else 1
    return round(scores(text)[asked] * scale, 4)


def _is(word: str, stems: tuple[str, ...]) -> bool:
    return any(word == stem or (len(stem) > EXACT - 1 and word.startswith(stem)) for stem in stems)
