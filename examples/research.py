"""Questions answered from an encyclopedia: read where needed, several articles at once, the answer in its tags."""

from __future__ import annotations

import anyio

import turnkeeper as tk
from turnkeeper import research, testing

# An imitation of Wikipedia's API, strict about how it is asked; leave `wiki` out below to ask the real one.
shelf = testing.Encyclopedia(
    {
        "Nile": "The Nile is a river in Africa. It is about 6,650 km long.",
        "Amazon River": "The Amazon River is a river in South America. It is about 6,400 km long.",
        "Amazon (company)": "Amazon is an American company.",
    },
    redirects={"River Nile": "Nile"},
    meanings={"Amazon": ["Amazon River", "Amazon (company)"]},
)

# What the model says, request by request.
script = testing.script(
    testing.reply(
        "Two rivers, two articles.",
        testing.call("get_article", {"search_term": "River Nile"}),
        testing.call("get_article", {"search_term": "Amazon"}),
    ),
    testing.reply(testing.call("get_article", {"search_term": "Amazon River"})),
    "6,650 km against 6,400 km. <answer>The Nile is longer (Nile, Amazon River).</answer>",
    "That needs no article. <answer>42</answer>",
)


async def main() -> None:
    """Two questions in one conversation."""
    api = testing.MessagesAPI(script)
    wiki = research.Wiki(contact="you@example.org", transport=shelf.transport())
    async with research.agent(wiki, client=api).open() as keeper:
        conversation = await keeper.conversation()

        shown = research.AnswerFilter()  # what a user may see while the reply streams in
        seen = ""
        async for update in conversation.send("Which is longer, the River Nile or the Amazon?"):
            if isinstance(update, tk.updates.RequestStarted):
                shown = research.AnswerFilter()
                seen = ""
            elif isinstance(update, tk.updates.TextDelta):
                seen += shown.feed(update.text)
        print(seen)
        assert seen + shown.finish() == "The Nile is longer (Nile, Amazon River)."

        sums = await conversation.send("And what is 6 times 7?")
        print(research.extract_answer(sums.text))
        assert research.extract_answer(sums.text) == "42"
        assert sums.calls == ()  # the tool is used where it is needed only

    read = [str(block["content"]) for block in api.requests[1].body["messages"][-1]["content"]]  # type: ignore[index]
    assert "Nile <https://en.wikipedia.org/wiki/Nile>\n[Redirected from River Nile]" in read[0]
    assert "- Amazon River\n- Amazon (company)" in read[1]
    assert all(text.startswith("<untrusted-") for text in read)  # strangers wrote it, and the model is told so
    assert shelf.complaints == []
    api.assert_all_accepted()


if __name__ == "__main__":
    anyio.run(main)
