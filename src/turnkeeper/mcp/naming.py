"""The name under which the model knows a server's tool: legal for the API, unique, the same in every process.

MCP allows dots, slashes and names of any length; the Messages API takes 1 to 64 of `a-z A-Z 0-9 _ -` (docs, "Define
tools"), and refuses every request in which one tool's name is something else. The name is worked out from the server's
and the tool's own alone, so that a stored conversation still finds its tool when others have come or gone.
"""

from __future__ import annotations

import hashlib
import re

__all__ = ("LONGEST_NAME", "SEPARATOR", "legal_name")

LONGEST_NAME = 64
SEPARATOR = "__"
_MARK = 8
_MARKED = re.compile(rf"_[0-9a-f]{{{_MARK}}}\Z")
_ILLEGAL = re.compile(r"[^a-zA-Z0-9_-]")


def legal_name(server: str, tool: str) -> str:
    """`server__tool` where that is legal and can be read in one way only, else made so and marked with a hash of both.

    The mark is there whenever something had to be changed: `a/b` and `a.b` stay two tools, whichever came first. A tool
    whose own name ends as a mark does gets one too, so that none can be named to look like another's marked name.
    """
    name = f"{_ILLEGAL.sub('_', server)}{SEPARATOR}{_ILLEGAL.sub('_', tool)}"
    one_reading = server and tool and SEPARATOR not in server and not server.endswith("_")
    one_reading = one_reading and not _MARKED.search(name)
    if one_reading and name == f"{server}{SEPARATOR}{tool}" and len(name) <= LONGEST_NAME:
        return name
    both = f"{len(server)}:{server}{tool}".encode("utf-8", "surrogatepass")
    mark = hashlib.sha256(both).hexdigest()[:_MARK]
    return f"{name[: LONGEST_NAME - _MARK - 1]}_{mark}"
