"""Whether a webhook comes from Twilio: the signature over the address that Twilio was given and the form's fields.

Sources: https://www.twilio.com/docs/usage/webhooks/webhooks-security (HMAC-SHA1 with the auth token) and
https://www.twilio.com/docs/usage/webhooks/webhook-shared-keys (the header with `key=…,algorithm=HMAC_SHA256`).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Iterable, Mapping
from urllib.parse import SplitResult, urlsplit

__all__ = ("SETTINGS_HEADER", "SIGNATURE_HEADER", "is_genuine", "signature_of")

SIGNATURE_HEADER = "x-twilio-signature"
SETTINGS_HEADER = "x-twilio-webhooks-signature-settings"

_ALGORITHMS = {"HMAC_SHA1": hashlib.sha1, "HMAC_SHA256": hashlib.sha256}
_PORTS = {"https": 443, "http": 80}


def signature_of(secret: str, url: str, fields: Iterable[tuple[str, str]], *, algorithm: str = "HMAC_SHA1") -> str:
    """The signature in base64: of the address, and behind it each name with its value, sorted, each pair once."""
    signed = url + "".join(name + value for name, value in sorted(set(fields)))
    digest = hmac.new(secret.encode(), signed.encode("utf-8", "surrogatepass"), _ALGORITHMS[algorithm]).digest()
    return base64.b64encode(digest).decode()


def is_genuine(
    url: str,
    fields: Iterable[tuple[str, str]],
    *,
    signature: str,
    settings: str = "",
    auth_token: str,
    shared_keys: Mapping[str, str] | None = None,
) -> bool:
    """Whether the signature is right for the address with or without its port.

    `settings` is the header that names a shared key and its algorithm; its secret is looked up in `shared_keys` by the
    key's id. Without the header, the auth token signs, with HMAC-SHA1.
    """
    secret, algorithm = auth_token, "HMAC_SHA1"
    if settings:
        named = dict(part.strip().partition("=")[::2] for part in settings.split(","))
        secret, algorithm = (shared_keys or {}).get(named.get("key", ""), ""), named.get("algorithm", "")
    if not secret or algorithm not in _ALGORITHMS:
        return False
    pairs = list(fields)
    genuine = False
    for one in _with_and_without_port(url):  # all of them, so that the time says nothing
        expected = signature_of(secret, one, pairs, algorithm=algorithm)
        genuine |= hmac.compare_digest(expected.encode(), signature.encode("utf-8", "replace"))
    return genuine


def _with_and_without_port(url: str) -> tuple[str, str]:
    """Twilio signs with the port or without it, by the kind of request; both stand for the same address."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    name = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else host.partition(":")[0]
    port = parts.port or _PORTS.get(parts.scheme, 443)
    return _at(parts, name, url), _at(parts, f"{name}:{port}", url)


def _at(parts: SplitResult, netloc: str, url: str) -> str:
    """The address at that host, to the letter as it was otherwise."""
    return url.replace(f"://{parts.netloc}", f"://{netloc}", 1)
