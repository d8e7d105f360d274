"""Signing in with a token of an identity provider (a JWT). Only what the rules name is believed.

The key is chosen from the rules' own table, by key id; nothing in a token chooses a key, an algorithm or an address to
fetch one from (RFC 8725, sections 3.1, 3.2, 3.8 to 3.10). Needs PyJWT, of the extra `web`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import turnkeeper as tk

__all__ = ("TokenRules", "customer_of_token")

_SYMMETRIC = frozenset({"HS256", "HS384", "HS512"})
_ALLOWED = _SYMMETRIC | {"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}
_LONGEST = 8_000
_LEEWAY = 30.0
"""Seconds by which two clocks may differ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRules:
    """Which tokens are good. `keys` has a key for each key id; all are for the one `algorithm`.

    `claim` names the member that holds the customer's id. ConfigurationError for an algorithm that is not allowed (such
    as `none`), and for a key of the wrong kind: a public key must never serve as a shared secret.
    """

    issuer: str
    audience: str
    algorithm: str
    keys: Mapping[str, Any]
    claim: str = "sub"

    def __post_init__(self) -> None:
        if self.algorithm not in _ALLOWED:
            raise tk.errors.ConfigurationError(f"tokens can't be signed with {self.algorithm!r}")
        if not self.keys or not self.issuer or not self.audience:
            raise tk.errors.ConfigurationError("tokens need an issuer, an audience and at least one key")
        for key in self.keys.values():
            text = key if isinstance(key, bytes) else str(key).encode()
            looks_public = b"-----BEGIN" in text
            if self.algorithm in _SYMMETRIC and (looks_public or len(text) < 32):
                raise tk.errors.ConfigurationError(f"{self.algorithm} needs a shared secret of at least 32 bytes")

    def __repr__(self) -> str:
        return f"TokenRules(issuer={self.issuer!r}, audience={self.audience!r}, algorithm={self.algorithm!r})"


def customer_of_token(token: str, rules: TokenRules | None, now: datetime) -> str | None:
    """The customer's id in a good token; None for every other, whatever is wrong with it."""
    if rules is None or not isinstance(token, str) or len(token) > _LONGEST:
        return None
    import jwt  # noqa: PLC0415 - only where somebody signs in

    try:
        head = jwt.get_unverified_header(token)
        key = rules.keys.get(str(head.get("kid")))
        if head.get("alg") != rules.algorithm or key is None or head.get("crit"):
            return None
        # the times are checked below, by the desk's own clock
        claims = jwt.decode(
            token,
            key,
            algorithms=[rules.algorithm],
            audience=rules.audience,
            issuer=rules.issuer,
            options={
                "require": ["exp", "iss", "aud", rules.claim],
                "verify_exp": False,
                "verify_nbf": False,
                "verify_iat": False,
            },
        )
    except (jwt.PyJWTError, ValueError, TypeError, RecursionError):
        return None
    found = claims.get(rules.claim)
    return found if isinstance(found, str) and found and _is_in_time(claims, now.timestamp()) else None


def _is_in_time(claims: Mapping[str, Any], now: float) -> bool:
    ends, begins, made = claims.get("exp"), claims.get("nbf", 0), claims.get("iat", 0)
    if not all(isinstance(one, int | float) and not isinstance(one, bool) for one in (ends, begins, made)):
        return False
    return float(ends or 0) > now - _LEEWAY and max(begins, made) <= now + _LEEWAY
