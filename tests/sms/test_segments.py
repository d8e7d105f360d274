"""How long a text is as an SMS."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from turnkeeper import sms


@pytest.mark.parametrize(
    ("text", "encoding", "units", "segments"),
    [
        ("", "GSM-7", 0, 0),
        ("a" * 160, "GSM-7", 160, 1),
        ("a" * 161, "GSM-7", 161, 2),
        ("a" * 306, "GSM-7", 306, 2),
        ("a" * 307, "GSM-7", 307, 3),
        ("€" * 80, "GSM-7", 160, 1),
        ("€" * 81, "GSM-7", 162, 2),
        ("^{}[]~\\|€", "GSM-7", 18, 1),
        ("ÄÖÜäöüß Ñ ñ ¿¡ Å Ø é ò Δ Ω", "GSM-7", 26, 1),
        ("ç", "UCS-2", 1, 1),
        ("Привет", "UCS-2", 6, 1),
        ("я" * 70, "UCS-2", 70, 1),
        ("я" * 71, "UCS-2", 71, 2),
        ("你好" * 67, "UCS-2", 134, 2),
        ("😀" * 35, "UCS-2", 70, 1),
        ("😀" * 36, "UCS-2", 72, 2),
        ("😀" * 67, "UCS-2", 134, 3),  # 33 pairs in a segment of 67: the 34th does not fit
    ],
)
def test_texts_are_counted_as_they_are_sent(text: str, encoding: str, units: int, segments: int) -> None:
    found = sms.segmented(text)
    assert (found.encoding, found.units, len(found.segments)) == (encoding, units, segments)


def test_an_escape_and_its_character_stay_together() -> None:
    first, second = sms.segmented("a" * 152 + "€" + "a" * 20).segments
    assert (len(first), second[0]) == (152, "€")


def test_the_halves_of_a_pair_stay_together() -> None:
    first, second = sms.segmented("я" * 66 + "😀" + "я" * 20).segments
    assert (len(first), second[0]) == (66, "😀")


@given(st.text(st.sampled_from("a€я😀 \n"), max_size=400))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_segments_fit_and_make_the_whole(text: str) -> None:
    found = sms.segmented(text)
    most = (160, 153) if found.encoding == "GSM-7" else (70, 67)
    room = most[0] if len(found.segments) == 1 else most[1]
    assert "".join(found.segments) == text
    assert all(0 < sms.segmented(one).units <= room for one in found.segments) or not text
