"""The desk's system prompt. The text is `prompt.md`, to be read and edited as text."""

from __future__ import annotations

from importlib import resources

__all__ = ("PROMPT",)

PROMPT = (resources.files("turnkeeper.desk") / "prompt.md").read_text(encoding="utf-8").strip()
"""What the desk tells the model about its work."""
