"""An SMS assistant: it speaks only through a tool that sends, by Twilio or at the console, and to nobody who said STOP.

`open_bot` gives the bot, `webhook` the application that Twilio calls. `docs/sms.md` says what is promised.
"""

from __future__ import annotations

from turnkeeper.sms.bot import PROMPT, Bot, Said, conversation_of, open_bot
from turnkeeper.sms.channel import Channel, Incoming, NotSentError, OutcomeUnknownError
from turnkeeper.sms.console import Console
from turnkeeper.sms.keywords import Keyword, keyword_in
from turnkeeper.sms.plain import plain_text
from turnkeeper.sms.segments import Segmented, segmented
from turnkeeper.sms.signature import is_genuine, signature_of
from turnkeeper.sms.toolset import Directory
from turnkeeper.sms.twilio import Twilio
from turnkeeper.sms.webhook import webhook

__all__ = (
    "PROMPT",
    "Bot",
    "Channel",
    "Console",
    "Directory",
    "Incoming",
    "Keyword",
    "NotSentError",
    "OutcomeUnknownError",
    "Said",
    "Segmented",
    "Twilio",
    "conversation_of",
    "is_genuine",
    "keyword_in",
    "open_bot",
    "plain_text",
    "segmented",
    "signature_of",
    "webhook",
)
