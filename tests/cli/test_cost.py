"""`turnkeeper cost`."""

from __future__ import annotations

import json
from decimal import Decimal

from tests.cli.conftest import Run, Serve
from turnkeeper.testing import call, reply

USAGE = {"input_tokens": 1_000, "output_tokens": 100}


def test_cost_sums_the_journal_by_day_model_tool_and_conversation(run: Run, serve: Serve, tools: str) -> None:
    url = serve(
        reply(call("weather", {"city": "Köln"}), usage=USAGE), reply("ok", usage=USAGE), reply("hi", usage=USAGE)
    )
    ask = ("ask", "--base-url", url, "-m", "claude-haiku-4-5", "-T", tools)
    assert run(*ask, "--conversation", "погода", "How is it?").exit_code == 0
    assert run(*ask, "--conversation", "b", "Hi").exit_code == 0
    found = json.loads(run("cost", "--json").stdout)
    # 1 and 5 USD a million: 0.0015 a request
    assert found["total"] == {
        "requests": 3,
        "input_tokens": 3_000,
        "cache_read_input_tokens": 0,
        "cache_write_5m_input_tokens": 0,
        "cache_write_1h_input_tokens": 0,
        "output_tokens": 300,
        "cost": "0.0045",
        "priced": True,
    }
    assert {one["conversation"]: one["cost"] for one in found["conversations"]} == {"погода": "0.003", "b": "0.0015"}
    assert {one["tool"]: one["cost"] for one in found["tools"]} == {"(messages)": "0.003", "weather": "0.0015"}
    assert [one["model"] for one in found["models"]] == ["claude-haiku-4-5"]
    assert Decimal(found["days"][0]["cost"]) == Decimal("0.0045")
    shown = run("cost", "погода", "--by", "tool")
    assert shown.exit_code == 0
    head, *rows, _, whole = shown.stdout.splitlines()
    assert head.split() == ["tool", "requests", "in", "written", "cached", "out", "cost"]
    assert sorted(row.split()[0] for row in rows) == ["(messages)", "weather"]
    assert whole == "$0.0030 in all, 2 requests"


def test_cost_of_nothing_and_of_what_is_not_there(run: Run) -> None:
    assert run("cost").stdout == ""
    done = run("cost", "nobody")
    assert done.exit_code == 1
    assert "no conversation 'nobody'" in done.stderr
    assert run("cost", "--since", "yesterday").exit_code == 2


def test_cost_since_a_day_to_come_is_nothing(run: Run, serve: Serve) -> None:
    assert run("ask", "--base-url", serve(reply("hi", usage=USAGE)), "-m", "claude-haiku-4-5", "Hi").exit_code == 0
    found = json.loads(run("cost", "--since", "2999-01-01", "--json").stdout)
    assert (found["total"]["cost"], found["days"]) == ("0", [])
