"""The phrasebook is data: complete in each language, extended by files, refused when it has the wrong shape."""

from __future__ import annotations

import string
import tomllib
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from tests.simulator.practice.fake_desk import DESK_TOOLS, Conversation
from turnkeeper.errors import ConfigurationError
from turnkeeper.simulator.practice import Phrasebook, PracticeModel
from turnkeeper.simulator.practice.phrasebook import built_in
from turnkeeper.simulator.practice.words import folded, normal, union

DATA: dict[str, Any] = tomllib.loads(
    resources.files("turnkeeper.simulator.practice").joinpath("phrasebook.toml").read_text("utf-8")
)
ENGLISH = DATA["languages"]["en"]
OTHERS = [code for code in DATA["languages"] if code != "en"]
PLAIN = {"order_item", "part_name", "part_product", "separator", "part_status", "part_quantity", "part_price"}


@pytest.mark.parametrize("code", OTHERS)
def test_a_language_understands_and_says_what_english_does(code: str) -> None:
    table = DATA["languages"][code]
    for part in ("intents", "labels", "references"):
        assert table[part].keys() == ENGLISH[part].keys()
        assert all(table[part].values())
    assert ENGLISH["say"].keys() - table["say"].keys() <= PLAIN
    assert table["say"].keys() <= ENGLISH["say"].keys()
    assert table["causes"].keys() == DATA["causes"].keys()


@pytest.mark.parametrize("code", OTHERS)
def test_templates_have_the_same_places_to_fill(code: str) -> None:
    def places(text: str) -> set[str]:
        return {name for _, name, _, _ in string.Formatter().parse(text) if name}

    for name, text in DATA["languages"][code]["say"].items():
        assert places(text) == places(ENGLISH["say"][name]), name


def test_the_self_description_says_that_it_is_no_language_model() -> None:
    words = {
        "en": "language model",
        "ru": "языковая модель",
        "fr": "modèle de langage",
        "de": "Sprachmodell",
        "zh": "语言模型",
    }
    for code, language in built_in().languages.items():
        assert words[code] in language.say("note")
        assert words[code] in language.say("who")


@pytest.mark.parametrize(
    ("written", "text", "matches"),
    [
        ("cancel", "please CANCEL it", True),
        ("cancel", "cancelled", False),
        ("отмен*", "Отменяю", True),
        ("change ... email", "change my very old email", True),
        ("change ... email", "change email", True),
        ("change ... email", "change it. My email", False),
        ("(phone|mobile) number", "mobile number", True),
        ("^no$", "No!", True),
        ("^no$", "no way", False),
        ("où est", "OU EST", True),
        ("查...订单", "请查一下我的订单吧", True),
        ("取消", "想取消24601", True),
    ],
)
def test_patterns_mean_what_the_page_says(written: str, text: str, matches: bool) -> None:
    assert (union([written]).search(folded(normal(text))) is not None) == matches


def test_no_patterns_match_nothing() -> None:
    assert union([]).search("") is None


@pytest.mark.parametrize(
    ("raw", "level"),
    [
        ("２４６０１", "24601"),
        ("٢٤٦٠١", "24601"),
        ("24\u200b6\u200f01", "24601"),
        ("a\u00a0b\u3000c", "a b c"),
        ("“don’t” — «x»", '"don\'t" - "x"'),
        ("john＠gmail．com", "john@gmail.com"),
        ("\ud800x\x00", "x"),
    ],
)
def test_ways_of_writing_are_levelled(raw: str, level: str) -> None:
    assert normal(raw) == level
    assert len(folded(normal(raw))) == len(normal(raw))


def test_a_file_adds_phrases_and_a_language(tmp_path: Path) -> None:
    file = tmp_path / "more.toml"
    file.write_text(
        """
        [languages.en.intents]
        cancel = ["bin"]
        [languages.en.say]
        greet = "Ahoy!"
        [languages.es]
        name = "Español"
        script = "LATIN"
        words = "el la mi por favor quiero pedido hola"
        [languages.es.intents]
        cancel = ["cancelar", "anular"]
        greet = ["hola"]
        [languages.es.say]
        cancelled = "El pedido {order} está anulado."
        greet = "¡Hola!"
        """,
        encoding="utf-8",
    )
    model = PracticeModel(Phrasebook.read(file))
    assert Conversation(DESK_TOOLS, model=model).send("hi").startswith("Ahoy!")
    assert "is cancelled" in Conversation(DESK_TOOLS, model=model).send("bin order 13579")
    assert "El pedido 47652 (Smartwatch) está anulado." in Conversation(DESK_TOOLS, model=model).send(
        "hola, quiero anular mi pedido 47652"
    )
    assert "El pedido" not in Conversation(DESK_TOOLS).send("cancel order 47652")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"[languages.en", "not TOML"),
        (b"\xff\xfe", "not TOML in UTF-8"),
        (b"[languages.xx]\nname = 'X'", "wrong shape"),
        (b"[languages.en.intents]\ncancel = 3", "wrong shape"),
        (b"[languages.en.intents]\ncancel = ['(open']", "wrong shape"),
    ],
)
def test_a_file_of_the_wrong_shape_is_refused_with_the_reason(tmp_path: Path, content: bytes, says: str) -> None:
    file = tmp_path / "bad.toml"
    file.write_bytes(content)
    with pytest.raises(ConfigurationError, match=says):
        Phrasebook.read(file)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"nowhere\.toml"):
        Phrasebook.read(tmp_path / "nowhere.toml")
