"""The desk's agent: its prompt and its tools, ready for conversations."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import turnkeeper as tk
from turnkeeper.desk.database import Desk
from turnkeeper.desk.policy import APPROVE_ABOVE
from turnkeeper.desk.prompt import PROMPT
from turnkeeper.desk.toolset import tools

__all__ = ("agent",)


def agent(
    database: Desk,
    *,
    model: str | None = None,
    client: Any = None,
    principal: tk.Principal | None = None,
    approve_above: Decimal = APPROVE_ABOVE,
    four_eyes: bool = False,
    **settings: Any,
) -> tk.Agent:
    """An agent that does the desk's work over an open desk.

    Its journal is the desk's own database, `agent.open(database.journal_url)`. Conversations are opened with a
    principal of kind `staff`, who then stands in the audit; `principal` is for those that have none. What needs a
    person's approval is said at `tools`. `settings` are those of `turnkeeper.Agent`; its errors are raised here too.
    """
    offered = tools(database, approve_above=approve_above, four_eyes=four_eyes, principal=principal)
    return tk.Agent(model=model, client=client, **{"system": PROMPT, "tools": offered, **settings})
