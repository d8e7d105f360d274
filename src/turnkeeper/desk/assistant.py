"""The desk's agent: its prompt and its tools, ready for conversations."""

from __future__ import annotations

from typing import Any

import turnkeeper as tk
from turnkeeper.desk.database import Desk
from turnkeeper.desk.prompt import PROMPT
from turnkeeper.desk.toolset import tools

__all__ = ("agent",)


def agent(
    database: Desk,
    *,
    model: str | None = None,
    client: Any = None,
    principal: tk.Principal | None = None,
    **settings: Any,
) -> tk.Agent:
    """An agent that does the desk's work over an open desk.

    Conversations are opened with a principal of kind `staff`, who then stands in the audit; `principal` is for turns in
    memory, which have none. `settings` are those of `turnkeeper.Agent`; its errors are raised here too.
    """
    return tk.Agent(
        model=model,
        client=client,
        **{"system": PROMPT, "tools": tools(database, principal=principal), **settings},
    )
