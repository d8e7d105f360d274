"""Characters that nobody sees: marks of direction, fillers, zero-width and tag characters. For classes of `re`.

Left out are the joiners and the emoji selector: writing needs them behind `JOINING` letters and `EMOJI`.
"""

from __future__ import annotations

__all__ = ("EMOJI", "HIDDEN", "JOINING")

HIDDEN = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0e\ufeff\uffa0\ufff9-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
JOINING = "\u0600-\u08ff\u0900-\u0dff\u0f00-\u109f\u1780-\u18af\ufb50-\ufdff\ufe70-\ufefc"
EMOJI = "\u2190-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
