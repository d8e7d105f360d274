"""The desk's agent: its prompt and its tools, ready for conversations."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import turnkeeper as tk
from turnkeeper.desk.database import Desk
from turnkeeper.desk.door import Door
from turnkeeper.desk.policy import APPROVE_ABOVE
from turnkeeper.desk.prompt import CUSTOMER_PROMPT, PROMPT
from turnkeeper.desk.selfservice import customer_tools
from turnkeeper.desk.toolset import tools

__all__ = ("CUSTOMER_LIMITS", "agent", "customer_agent")

CUSTOMER_LIMITS = tk.Limits(requests=12, calls=24, tokens=200_000, seconds=300)
"""What one message of a stranger may use."""


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


def customer_agent(
    database: Desk,
    door: Door,
    *,
    model: str | None = None,
    client: Any = None,
    approve_above: Decimal = APPROVE_ABOVE,
    **settings: Any,
) -> tk.Agent:
    """An agent at the customers' door. Conversations are opened with a visitor as principal; the door says who that is.

    Its journal is the desk's own database, `agent.open(database.journal_url)`. Without `limits` a message may use what
    `CUSTOMER_LIMITS` says. `settings` are those of `turnkeeper.Agent`; its errors are raised here too.
    """
    offered = customer_tools(database, door, approve_above=approve_above)
    given = {"system": CUSTOMER_PROMPT, "tools": offered, "limits": CUSTOMER_LIMITS, "max_tokens": 2_000, **settings}
    return tk.Agent(model=model, client=client, identity=door.who, **given)
