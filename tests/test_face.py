"""The public face: what is named on it is there, and the same thing as where it lives."""

from __future__ import annotations

import turnkeeper as tk
from turnkeeper.driver.inbox import WorkedOff
from turnkeeper.tools.wording import clean
from turnkeeper.types import fold_surrogates
from turnkeeper.wire import json


def test_what_keepers_and_workers_give_is_on_the_face() -> None:
    assert tk.WorkedOff is WorkedOff
    assert callable(tk.workers.run_worker)
    assert {"WorkedOff", "workers", "ContentBlock"} <= set(tk.__all__)


def test_text_is_made_fit_for_utf_8_in_one_place() -> None:
    assert clean is fold_surrogates is json.fold_surrogates
    assert clean("a\ud83d\ude42 \udc81 привет") == "a🙂 \ufffd привет"
