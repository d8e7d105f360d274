"""The forms a model id comes in, and the one base id behind them.

Forms from platform.claude.com/docs/en/about-claude/models/model-ids-and-versions: the Claude API
(`claude-haiku-4-5`, `claude-haiku-4-5-20251001`), Amazon Bedrock (`anthropic.claude-…-v1:0`, with a region in front,
also as the last part of an ARN), Google Cloud (`claude-haiku-4-5@20251001`).
"""

from __future__ import annotations

import re

__all__ = ("base_id",)

_FORM = re.compile(
    r"""
    (?:[a-z]{2,10}(?:-[a-z]+)?\.)?      # Bedrock's region: us. eu. apac. global. us-gov.
    (?:anthropic\.)?
    (?P<base>claude-[a-z0-9-]+?)
    (?:-latest|-(?P<date>\d{8}))?
    (?:-v\d+(?::\d+)?)?                 # Bedrock's revision
    (?:@(?:\d{8}|latest|default))?      # Vertex's version
    """,
    re.VERBOSE,
)


def base_id(model_id: str) -> str:
    """The id without platform, region, date and revision; an id of another form comes back as it is.

    >>> base_id("us.anthropic.claude-opus-4-5-20251101-v1:0")
    'claude-opus-4-5'
    """
    last = model_id.rsplit("/", 1)[-1] if model_id.startswith("arn:") else model_id
    match = _FORM.fullmatch(last)
    return match["base"] if match else model_id
