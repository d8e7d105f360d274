"""`turnkeeper research`: questions from the command line, from stdin, and at a terminal."""

from __future__ import annotations

import json

import pytest

from tests.cli.conftest import Open, Run, Serve
from turnkeeper.testing import Encyclopedia, call, reply


def test_without_key_and_network_the_demo_answers_from_an_article(run: Run) -> None:
    done = run("research", "--demo", "Who", "was", "Ada Lovelace?")
    assert done.exit_code == 0, done.stderr
    assert done.stdout.startswith("Ada Lovelace: Augusta Ada King, Countess of Lovelace (1815–1852) was")
    assert "<answer>" not in done.stdout
    assert "practice model" in done.stderr
    assert 'get_article(search_term="Ada Lovelace")' in done.stderr


def test_what_needs_no_article_is_answered_without_one(run: Run) -> None:
    done = run("research", "--demo", input="Hello!")
    assert done.exit_code == 0
    assert done.stdout.startswith("Hello!")
    assert "get_article(" not in done.stderr


def test_the_model_reads_several_articles_of_another_site_at_once(run: Run, serve: Serve) -> None:
    shelf = Encyclopedia({"Köln": "Köln liegt am Rhein.", "Bonn": "Bonn liegt auch am Rhein."})
    shelf.edition("de", {"Köln": "Köln liegt am Rhein.", "Bonn": "Bonn liegt auch am Rhein."})
    api = serve(
        reply(
            "Ich sehe nach.",
            call("get_article", {"search_term": "Köln"}),
            call("get_article", {"search_term": "Bonn"}),
        ),
        "Beide stehen da. <answer>Beide am Rhein (Köln, Bonn).</answer>",
    )
    with shelf.listen() as url:
        done = run(
            *("research", "--language", "de", "--contact", "ops@shop.example", "--base-url", api),
            *("--site", f"{url}/{{language}}/w/api.php", "--output-format", "json", "Wo liegen Köln und Bonn?"),
        )
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["text"] == "Beide am Rhein (Köln, Bonn)."
    assert [one.path for one in shelf.asked] == ["/de/w/api.php"] * 2
    assert "ops@shop.example" in shelf.asked[0].headers["user-agent"]
    results = serve.last["messages"][-1]["content"]
    assert ["liegt" in str(result["content"]) for result in results] == [True, True]
    assert shelf.complaints == []


def test_at_a_terminal_it_goes_on_from_question_to_question(screen: Open) -> None:
    chat = screen("research", "--demo")
    chat.prompt()
    assert "1791" in chat.say("Who was Charles Babbage?")
    assert "Analytical engine: The analytical engine was" in chat.say("What is the analytical engine?")
    both = chat.say("Compare Ada Lovelace and Charles Babbage")
    assert both.count("get_article(") == 1  # the other one was read before
    assert "Charles Babbage: Charles Babbage (1791" in both


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--demo", "--site", "https://x.example/w/api.php", "?"], "leave --site out"),
        (["--site", "x.example", "?"], "has an address such as"),
        (["--language", "English", "?"], "named by its code"),
        (["--contact", "Ада", "?"], "in ASCII"),
        ([], "there is no prompt"),
    ],
)
def test_what_can_not_be_used_is_refused(run: Run, arguments: list[str], said: str) -> None:
    done = run("research", *arguments)
    assert (done.exit_code != 0, done.stdout) == (True, "")
    assert said in done.stderr
