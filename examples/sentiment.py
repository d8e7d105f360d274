"""The sentiment lesson: scores from 0.0 to 1.0 out of a text, checked; the bounds hold whatever the model gives.

Run it: python examples/sentiment.py
"""

from pydantic import BaseModel, Field

import turnkeeper as tk
from turnkeeper.testing import MessagesAPI, script


class Sentiment(BaseModel):
    """The sentiment of a text; the scores say how strongly each is there."""

    positive_score: float = Field(ge=0.0, le=1.0)
    negative_score: float = Field(ge=0.0, le=1.0)
    neutral_score: float = Field(ge=0.0, le=1.0)


TWEET = "I'm a HUGE hater of pickles. I actually despise pickles. They are garbage and terrible."
REVIEW = "I love my new headphones! They are great, thank you."

# The practice model stands in here; it counts words, and is no language model.
agent = tk.Agent(client=MessagesAPI(practice=True))
for text, strongest in ((TWEET, "negative_score"), (REVIEW, "positive_score"), ("It is Monday.", "neutral_score")):
    sentiment = agent.extract(Sentiment, text)
    print(f"{sentiment!r}  <- {text}")
    scores = sentiment.model_dump()
    assert max(scores, key=lambda name: scores[name]) == strongest
    assert all(0.0 <= score <= 1.0 for score in scores.values())

# A score out of bounds is shown to the model, which gets one chance to mend it.
api = MessagesAPI(
    script(
        '{"positive_score": 9, "negative_score": 0, "neutral_score": 0.1}',
        '{"positive_score": 0.9, "negative_score": 0.0, "neutral_score": 0.1}',
    )
)
assert tk.Agent(client=api).extract(Sentiment, REVIEW).positive_score == 0.9
asked = api.requests[1].body
assert asked is not None
print(asked["messages"][-1]["content"][0]["text"])

# A model without structured output is made to call a tool instead: the same call, the same value.
for endpoint in ("ollama", "llama.cpp", "vllm", "litellm"):
    api = MessagesAPI(practice=True, imitation=endpoint)
    assert tk.Agent(model="qwen3", client=api).extract(Sentiment, REVIEW).positive_score > 0.9
