"""A process killed while it sends: whatever the instant, the phone gets one text."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.sms.conftest import sends
from turnkeeper.testing import MessagesAPI, TwilioAPI, script
from turnkeeper.testing.services import Answer, Asked

ROOT = Path(__file__).resolve().parents[2]


class Deadly(TwilioAPI):
    """Kills the process that sends, before or after the message is created."""

    def __init__(self, when: str) -> None:
        super().__init__(clock=time.time)
        self.when = when
        self.victim: subprocess.Popen[str] | None = None

    def answer(self, asked: Asked) -> Answer:
        if asked.method == "POST" and self.victim is not None and self.when == "before":
            self._kill()
            return self.refusal(500, 20500)
        said = super().answer(asked)
        if asked.method == "POST" and self.victim is not None and self.when == "after":
            self._kill()
        return said

    def _kill(self) -> None:
        assert self.victim is not None
        self.victim.kill()
        assert self.victim.wait(30) == -signal.SIGKILL
        self.victim = None


def start(*arguments: Any) -> subprocess.Popen[str]:
    command = [sys.executable, "-W", "error", "-m", "tests.sms.phone_bot", *map(str, arguments)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("when", ["after", pytest.param("before", marks=pytest.mark.slow)])
def test_a_kill_in_the_middle_of_a_send_leaves_one_text(tmp_path: Path, when: str) -> None:
    one_text(f"sqlite:///{tmp_path}/sms.db", when)


@pytest.mark.slow
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_kill_in_the_middle_of_a_send_leaves_one_text_on_a_server(postgres_database: str, when: str) -> None:
    one_text(postgres_database, when)


def one_text(url: str, when: str) -> None:
    twilio = Deadly(when)
    api = MessagesAPI(script(sends("Your order has shipped."), "OK"))
    with twilio.listen() as carrier, api.listen() as model:
        victim = twilio.victim = start(url, carrier, model, "Where is my order?")
        _, errors = victim.communicate(timeout=60)
        assert victim.returncode == -signal.SIGKILL, errors
        assert len(twilio.messages) == (0 if when == "before" else 1)

        again = start(url, carrier, model)
        _, errors = again.communicate(timeout=60)
        assert (again.returncode, errors) == (0, "")

    assert [one["body"] for one in twilio.messages] == ["Your order has shipped."]
    assert len(api.requests) == 2  # the model was not asked anew: its call was gone on with
    result = (api.requests[1].body or {})["messages"][-1]["content"][0]
    assert result["content"].startswith("Sent, in 1 part.")
    assert twilio.complaints == []


@pytest.mark.slow
def test_a_kill_before_the_model_answers_loses_no_message(tmp_path: Path) -> None:
    victims: list[subprocess.Popen[str]] = []

    def deadly(request: Any) -> Any:
        victims[0].kill()
        victims[0].wait(30)
        return sends("never seen")

    twilio, api = TwilioAPI(clock=time.time), MessagesAPI(script(deadly, sends("Here."), "OK"))
    url = f"sqlite:///{tmp_path}/sms.db"
    with twilio.listen() as carrier, api.listen() as model:
        victims.append(start(url, carrier, model, "Hello?"))
        victims[0].communicate(timeout=60)
        again = start(url, carrier, model, "Hello?")  # Twilio delivers it once more, too
        _, errors = again.communicate(timeout=60)
        assert (again.returncode, errors) == (0, "")
    assert [one["body"] for one in twilio.messages] == ["Here."]
