"""Access tokens (OAuth 2, JWT): whose they are, who made them and for whom, or none at all.

The checks are those of RFC 9068 and of MCP's page on authorization: a signature by one of the issuer's keys, with an
algorithm that was agreed on beforehand; the issuer; this very resource among the audience; not before its time and not
after. A token is never passed on, kept or logged: tools see a principal.
"""

from __future__ import annotations

import json
import logging
import math
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import jwt
from mcp.server.auth.provider import AccessToken

from turnkeeper.errors import ConfigurationError, InputError
from turnkeeper.types import Principal

if TYPE_CHECKING:
    from jwt.types import Options

__all__ = ("ALGORITHMS", "TokenVerifier", "principal_of")

logger = logging.getLogger("turnkeeper.mcp")

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Signatures with a key pair: whoever checks them can't make them."""
LEEWAY = 30.0
"""Seconds that the clocks of two machines may differ."""
LONGEST_TOKEN = 16_384

_REQUIRED: Options = {"require": ["exp", "iat", "iss", "aud", "sub"], "strict_aud": False}
_KEY_SECONDS = 10
_KEY_LIFE = 300
_ASK_AGAIN = 30.0


class TokenVerifier:
    """Checks the tokens of one issuer for one resource (the URL of this server); for the `mcp` library's HTTP door.

    `keys` is the issuer's JWKS: a file, or a URL that is asked every five minutes, and sooner for a key not known yet.
    ConfigurationError for algorithms that can't be told apart from a shared secret, and for a file that has no keys.
    """

    def __init__(
        self, *, issuer: str, resource: str, keys: str, algorithms: Sequence[str] = ALGORITHMS, leeway: float = LEEWAY
    ) -> None:
        if not algorithms or not set(algorithms) <= set(ALGORITHMS):
            raise ConfigurationError(f"algorithms are some of {', '.join(ALGORITHMS)}")
        self._issuer = issuer
        self._resource = resource
        self._algorithms = list(algorithms)
        self._leeway = leeway
        self._key = _from_url(keys) if keys.startswith(("https://", "http://")) else _from_file(Path(keys))

    async def verify_token(self, token: str) -> AccessToken | None:
        """The token's claims; None for one that is not good here. The log says why, without the token."""
        try:
            claims = await anyio.to_thread.run_sync(self._claims, token)
            return AccessToken(
                token="(not kept)",
                client_id=str(claims.get("client_id") or claims.get("azp") or claims["sub"]),
                scopes=_scopes(claims),
                expires_at=int(claims["exp"]),
                resource=self._resource,
                subject=claims["sub"],
                claims={"iss": claims["iss"]},
            )
        except (jwt.PyJWTError, ValueError, TypeError, KeyError) as error:
            logger.warning("an access token was refused: %s", type(error).__name__)
            return None

    def _claims(self, token: str) -> dict[str, Any]:
        if len(token) > LONGEST_TOKEN:
            raise jwt.InvalidTokenError
        header = jwt.get_unverified_header(token)
        if header.get("alg") not in self._algorithms or "crit" in header:
            raise jwt.InvalidAlgorithmError
        claims = jwt.decode(
            token,
            self._key(header.get("kid")),
            algorithms=self._algorithms,
            audience=self._resource,
            issuer=self._issuer,
            leeway=self._leeway,
            options=_REQUIRED,
        )
        if not isinstance(claims["sub"], str) or not claims["sub"]:
            raise jwt.InvalidTokenError
        return claims


Keys = Callable[[Any], jwt.PyJWK]
"""The issuer's key of an id; PyJWTError if there is none."""


def _from_url(url: str) -> Keys:
    client = jwt.PyJWKClient(url, lifespan=_KEY_LIFE, timeout=_KEY_SECONDS)
    asked = -math.inf

    def key(wanted: Any) -> jwt.PyJWK:
        nonlocal asked
        found = {one.key_id: one for one in client.get_signing_keys()}
        if wanted not in found and time.monotonic() - asked > _ASK_AGAIN:
            # a new key, perhaps; but ids are easily made up, and the issuer must not be asked for each
            asked = time.monotonic()
            found = {one.key_id: one for one in client.get_signing_keys(refresh=True)}
        return _known(found, wanted)

    return key


def _from_file(path: Path) -> Keys:
    try:
        keys = jwt.PyJWKSet.from_dict(json.loads(path.read_text("utf-8")))
    except (OSError, ValueError, TypeError, AttributeError, jwt.PyJWTError) as error:
        raise ConfigurationError(f"{path} holds no keys (a JWKS, as the issuer publishes it): {error}") from error
    found = {one.key_id: one for one in keys.keys}
    return lambda wanted: _known(found, wanted)


def _known(found: Mapping[str | None, jwt.PyJWK], wanted: Any) -> jwt.PyJWK:
    one = found.get(wanted) if isinstance(wanted, str) else None
    if one is None or one.key_type == "oct":  # a shared secret is no public key, wherever it stands
        raise jwt.InvalidKeyError
    return one


def _scopes(claims: Mapping[str, Any]) -> list[str]:
    found = claims.get("scope", claims.get("scp", ""))
    words = found.split() if isinstance(found, str) else found if isinstance(found, list) else []
    return [word for word in words if isinstance(word, str)]


def principal_of(token: AccessToken | None, *, staff_scope: str | None = None) -> Principal | None:
    """Whom a checked token speaks for: staff if it has the scope that says so, else a customer who has signed in."""
    if token is None or token.subject is None:
        return None
    kind = "staff" if staff_scope is not None and staff_scope in token.scopes else "customer"
    try:
        return Principal(kind, token.subject, "signed_in")
    except InputError:
        return None
