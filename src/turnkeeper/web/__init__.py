"""The web door: a customer's chat page, an operator's console, a JSON API, event streams.

`app(agent, …)` gives an ASGI application.
"""

from __future__ import annotations

from turnkeeper.web.application import app
from turnkeeper.web.door import Door
from turnkeeper.web.rates import Rates
from turnkeeper.web.service import Service
from turnkeeper.web.staff import Staff

__all__ = ("Door", "Rates", "Service", "Staff", "app")
