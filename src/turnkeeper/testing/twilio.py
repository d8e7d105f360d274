"""An imitation of Twilio: its Messages API, strict about what it is sent, and the webhooks that it signs.

Facts: https://www.twilio.com/docs/messaging/api/message-resource, https://www.twilio.com/docs/api/errors (20003, 21211,
21603, 21604, 21610, 21617), https://www.twilio.com/docs/usage/webhooks/webhooks-security.
"""

from __future__ import annotations

import base64
import email.utils
import hashlib
import hmac
import re
from collections.abc import Callable, Mapping
from typing import Any

from turnkeeper.testing.fixed import FixedClock
from turnkeeper.testing.services import Answer, Asked, Service

__all__ = ("TwilioAPI",)

_FIELDS = frozenset({"To", "From", "MessagingServiceSid", "Body", "StatusCallback", "SmartEncoded", "ValidityPeriod"})
_PATH = re.compile(r"/2010-04-01/Accounts/(AC[0-9a-f]{32})/Messages\.json")
_NUMBER = re.compile(r"\+[1-9]\d{6,14}")
PAGE = 50


class TwilioAPI(Service):
    """Twilio for tests: `sms.Twilio(…, transport=api.transport())`, or its address from `listen()`.

    `messages` are those that were created, the oldest first, as the API describes them; `opted_out` are numbers that
    Twilio refuses to send to. `form(…)` and `signed(…)` make a webhook.
    """

    def __init__(
        self, *, account_sid: str = "AC" + "0" * 32, auth_token: str = "token", clock: Callable[[], float] | None = None
    ) -> None:
        super().__init__()
        self.account_sid = account_sid
        self.auth_token = auth_token
        self.messages: list[dict[str, Any]] = []
        self.opted_out: set[str] = set()
        self._clock = clock or FixedClock()
        self._received = 0

    def answer(self, asked: Asked) -> Answer:
        """One request of the API."""
        at = _PATH.fullmatch(asked.path)
        if at is None:
            return self._error(404, 20404, f"The requested resource {asked.path} was not found")
        credentials = base64.b64encode(f"{self.account_sid}:{self.auth_token}".encode()).decode()
        if asked.headers.get("authorization") != f"Basic {credentials}" or at[1] != self.account_sid:
            return self._error(401, 20003, "Authenticate")
        if asked.method == "GET":
            return self._list(dict(asked.query))
        if asked.method != "POST":
            return self._error(405, 20004, "Method not allowed")
        if asked.headers.get("content-type", "").split(";")[0] != "application/x-www-form-urlencoded":
            return self._error(400, 21604, "A 'To' phone number is required.")
        return self._create(asked)

    def refusal(self, status: int, code: int, message: str = "", **headers: str) -> Answer:
        """An error as the API words it, to be planned in `faults` or `after`."""
        said = {
            "code": code,
            "message": message,
            "more_info": f"https://www.twilio.com/docs/errors/{code}",
            "status": status,
        }
        return Answer(status=status, body=said, headers=headers)

    def _error(self, status: int, code: int, message: str) -> Answer:
        self.complaints.append(f"{code}: {message}")
        return self.refusal(status, code, message)

    def _create(self, asked: Asked) -> Answer:
        given = dict(asked.form)
        if len(given) != len(asked.form) or set(given) - _FIELDS:
            self.complaints.append(f"fields twice or unknown: {sorted(name for name, _ in asked.form)}")
        number, body = given.get("To", ""), given.get("Body", "")
        if not _NUMBER.fullmatch(number):
            return self._error(400, 21211, f"Invalid 'To' Phone Number: {number}")
        if not (given.get("From") or given.get("MessagingServiceSid")):
            return self._error(400, 21603, "A 'From' phone number is required.")
        if not body:
            return self._error(400, 21602, "Message body is required.")
        if len(body) > 1600:
            return self._error(400, 21617, "The concatenated message body exceeds the 1600 character limit")
        if number in self.opted_out:
            return self._error(400, 21610, "Attempt to send to unsubscribed recipient")
        made = self._made(number, body, given.get("From"), given.get("MessagingServiceSid"))
        self.messages.append(made)
        return Answer(status=201, body=made)

    def _made(self, number: str, body: str, sender: str | None, service: str | None) -> dict[str, Any]:
        sid = f"SM{len(self.messages) + 1:032x}"
        at = email.utils.formatdate(self._clock(), usegmt=True).replace("GMT", "+0000")
        return {
            "account_sid": self.account_sid,
            "api_version": "2010-04-01",
            "body": body,
            "date_created": at,
            "date_sent": None,
            "date_updated": at,
            "direction": "outbound-api",
            "error_code": None,
            "error_message": None,
            "from": sender,
            "messaging_service_sid": service,
            "num_media": "0",
            "num_segments": "1",
            "price": None,
            "price_unit": None,
            "sid": sid,
            "status": "queued",
            "to": number,
            "uri": f"/2010-04-01/Accounts/{self.account_sid}/Messages/{sid}.json",
        }

    def _list(self, given: Mapping[str, str]) -> Answer:
        unknown = set(given) - {"To", "From", "DateSent", "DateSent<", "DateSent>", "PageSize", "Page", "PageToken"}
        if unknown:
            self.complaints.append(f"the list has no filter {sorted(unknown)}")
        fitting = [
            one
            for one in reversed(self.messages)
            if given.get("To", one["to"]) == one["to"] and given.get("From", one["from"]) == one["from"]
        ]
        size, page = int(given.get("PageSize", PAGE)), int(given.get("Page", "0"))
        shown = fitting[page * size : (page + 1) * size]
        more = len(fitting) > (page + 1) * size
        here = f"/2010-04-01/Accounts/{self.account_sid}/Messages.json"
        after = f"{here}?To={given.get('To', '').replace('+', '%2B')}&PageSize={size}&Page={page + 1}" if more else None
        return Answer(body={"messages": shown, "page": page, "page_size": size, "next_page_uri": after, "uri": here})

    # ----- webhooks --------------------------------------------------------------------------------------------------

    def form(self, number: str, body: str, **more: str) -> dict[str, str]:
        """The fields of an incoming message, each with an id of its own."""
        self._received += 1
        sid = f"SM{self._received:032x}"
        return {
            "ToCountry": "US",
            "ToState": "",
            "SmsMessageSid": sid,
            "NumMedia": "0",
            "SmsSid": sid,
            "SmsStatus": "received",
            "Body": body,
            "To": "+15005550006",
            "NumSegments": "1",
            "MessageSid": sid,
            "AccountSid": self.account_sid,
            "From": number,
            "ApiVersion": "2010-04-01",
            **more,
        }

    def signed(self, url: str, form: Mapping[str, str], *, shared_key: tuple[str, str] | None = None) -> dict[str, str]:
        """The headers of the webhook; `shared_key` (id and secret) signs instead of the auth token, with SHA-256."""
        secret, digest = (self.auth_token, hashlib.sha1) if shared_key is None else (shared_key[1], hashlib.sha256)
        text = url
        for name in sorted(form):
            text += name + form[name]
        signature = base64.b64encode(hmac.new(secret.encode(), text.encode(), digest).digest()).decode()
        headers = {"X-Twilio-Signature": signature, "I-Twilio-Idempotency-Token": "0" * 8}
        if shared_key is not None:
            headers["X-Twilio-Webhooks-Signature-Settings"] = f"key={shared_key[0]},algorithm=HMAC_SHA256"
        return headers
