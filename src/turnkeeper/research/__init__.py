"""A research assistant: questions answered from Wikipedia, with one tool, `get_article`, over MediaWiki's API."""

from __future__ import annotations

from turnkeeper.research.answers import AnswerFilter, extract_answer
from turnkeeper.research.articles import Article
from turnkeeper.research.assistant import PROMPT, agent
from turnkeeper.research.finding import Found, find_article
from turnkeeper.research.toolset import article_tool
from turnkeeper.research.wiki import SITE, Wiki

__all__ = (
    "PROMPT",
    "SITE",
    "AnswerFilter",
    "Article",
    "Found",
    "Wiki",
    "agent",
    "article_tool",
    "extract_answer",
    "find_article",
)
