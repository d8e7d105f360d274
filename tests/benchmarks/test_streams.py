"""The benchmark of open event streams, small: it measures, and finds nothing lost."""

from __future__ import annotations

import pytest

from benchmarks import streams


@pytest.mark.slow
def test_streams_are_measured_and_nothing_is_lost(capsys: pytest.CaptureFixture[str]) -> None:
    assert streams.main(["--streams", "4", "--rate", "4", "--seconds", "2"]) == 0
    printed = capsys.readouterr().out
    assert "4 streams open, 8 turns in 2 seconds." in printed
    assert "| messages, replies or words lost or told twice | 0 |" in printed


def test_a_stream_that_loses_repeats_or_garbles_is_told() -> None:
    reader = streams.Reader(("127.0.0.1", 0), "", "c", sent={"k-1": 0.0, "k-2": 0.0})
    message = {"type": "message", "from": "customer", "seq": 1, "key": "k-1"}
    for event in (
        message,
        {"type": "delta", "offset": 0, "text": "Добрый "},
        {"type": "delta", "offset": 9, "text": "день"},
        {"type": "reply", "seq": 3, "text": "Добрый день"},
        message,
        {"type": "ended", "seq": 4, "status": "failed"},
    ):
        reader.take(event)
    assert reader.lost() == [
        "text at 9 behind 7 characters",
        "event 1 behind 3",
        "2 messages sent, 2 came",
        "2 messages sent, 0 turns completed",
    ]
