"""TechNova Desk: a customer-support application on a real database, run by Turnkeeper."""

from __future__ import annotations

from turnkeeper.desk.answers import CodeSent, Confirmation, Received
from turnkeeper.desk.assistant import CUSTOMER_LIMITS, agent, customer_agent
from turnkeeper.desk.cards import Card
from turnkeeper.desk.codes import DIGITS
from turnkeeper.desk.contact import kind_of
from turnkeeper.desk.couriers import ConsoleCourier, Courier, Notice, SMSCourier, SMTPCourier, smtp_courier
from turnkeeper.desk.database import DEFAULT_URL, Desk, open_database
from turnkeeper.desk.domain import Refusal
from turnkeeper.desk.door import KEY_VARIABLE, Door
from turnkeeper.desk.errors import DeskDatabaseError, DeskVersionError
from turnkeeper.desk.prompt import CUSTOMER_PROMPT, PROMPT
from turnkeeper.desk.reply import ReplyFilter, extract_reply
from turnkeeper.desk.rules import RULES, quoted
from turnkeeper.desk.selfservice import customer_tools
from turnkeeper.desk.tokens import TokenRules
from turnkeeper.desk.toolset import tools

__all__ = (
    "CUSTOMER_LIMITS",
    "CUSTOMER_PROMPT",
    "DEFAULT_URL",
    "DIGITS",
    "KEY_VARIABLE",
    "PROMPT",
    "RULES",
    "Card",
    "CodeSent",
    "Confirmation",
    "ConsoleCourier",
    "Courier",
    "Desk",
    "DeskDatabaseError",
    "DeskVersionError",
    "Door",
    "Notice",
    "Received",
    "Refusal",
    "ReplyFilter",
    "SMSCourier",
    "SMTPCourier",
    "TokenRules",
    "agent",
    "customer_agent",
    "customer_tools",
    "extract_reply",
    "kind_of",
    "open_database",
    "quoted",
    "smtp_courier",
    "tools",
)
