"""Signatures of thinking blocks that carry what they sign.

The API's signatures are opaque and checkable without a memory; so are these: the block and the digest of the prompt
before it, packed, with a keyed digest in front. A conversation keeps its thinking when the simulator is restarted,
and nothing has to be remembered. The key is no secret: it keeps honest programs honest.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from turnkeeper.simulator.encoding import dump, load

__all__ = ("Sealed", "seal", "unseal")

KEY = b"turnkeeper simulator, thinking signatures, version 1"
DIGEST_SIZE = 16


@dataclass(frozen=True, slots=True)
class Sealed:
    """What a signature says: the block as it was sent, without the signature, and the digest of the prompt before."""

    block: Mapping[str, Any]
    prefix: str


def seal(block: Mapping[str, Any], *, prefix: str) -> str:
    """The signature (or `data`) of a thinking block that was produced after the prompt with this digest."""
    bare = {key: value for key, value in block.items() if key not in ("signature", "data")}
    packed = zlib.compress(dump({"block": bare, "prefix": prefix}), 9)
    return base64.b64encode(_digest(packed) + packed).decode("ascii")


def unseal(signature: str) -> Sealed | None:
    """What was sealed, or None when this simulator didn't make the signature or it was changed."""
    try:
        raw = base64.b64decode(signature.encode("ascii"), validate=True)
    except (UnicodeEncodeError, binascii.Error):
        return None
    digest, packed = raw[:DIGEST_SIZE], raw[DIGEST_SIZE:]
    if not hmac.compare_digest(digest, _digest(packed)):
        return None
    said = load(zlib.decompress(packed))
    return Sealed(block=said["block"], prefix=said["prefix"])


def _digest(packed: bytes) -> bytes:
    return hmac.new(KEY, packed, hashlib.sha256).digest()[:DIGEST_SIZE]
