"""The desk's system prompts. The texts are `prompt.md` and `customer_prompt.md`, to be read and edited as text."""

from __future__ import annotations

from importlib import resources

__all__ = ("CUSTOMER_PROMPT", "PROMPT")

PROMPT = (resources.files("turnkeeper.desk") / "prompt.md").read_text(encoding="utf-8").strip()
"""What the desk tells the model about its work for staff."""

CUSTOMER_PROMPT = (resources.files("turnkeeper.desk") / "customer_prompt.md").read_text(encoding="utf-8").strip()
"""What the desk tells the model about its work for a customer."""
