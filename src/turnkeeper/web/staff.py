"""How staff sign in: a password file, the word of a trusted proxy, or, on this machine only, a demo user."""

from __future__ import annotations

import base64
import hashlib
import hmac
import ipaddress
import re
import secrets
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from starlette.requests import Request

from turnkeeper.errors import ConfigurationError
from turnkeeper.types import Principal
from turnkeeper.web.proxies import PEER, Proxies
from turnkeeper.web.sessions import Session, Sessions

__all__ = ("DEMO_COOKIE", "Staff", "hashed", "is_name", "matches", "read_passwords")

_N, _R, _P = 2**15, 8, 1
_MOST_MEMORY = 2**28
"""Bytes that one check may take: more would let a few logins at once exhaust the machine."""
_NAME = re.compile(r"[^\s:]{1,64}")
DEMO_COOKIE = "turnkeeper_demo"
"""Under which other name the demo's user goes on."""
_PASSED_ON = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via")


@dataclass(frozen=True, slots=True, kw_only=True)
class Staff:
    """Who may use the console.

    `passwords` are hashes by name (`Staff.from_file`). `header` is the request header in which a proxy names whom it
    has signed in (`Staff.behind_proxy`), believed only from the addresses in `proxies`. `demo` signs everybody in under
    that name who sits at this very machine (`Staff.on_loopback`). With none of them, nobody gets in.
    """

    passwords: Mapping[str, str] = field(default_factory=dict)
    header: str | None = None
    proxies: Sequence[str] = ()
    demo: str | None = None
    _trusted: Proxies = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.header is not None and not self.proxies:
            raise ConfigurationError(
                f"the header {self.header} names staff, so it is believed from the proxy only: name the proxy's address"
            )
        if self.demo is not None and not is_name(self.demo):
            raise ConfigurationError("the demo's name has 1 to 64 characters, none of them a space or a colon")
        object.__setattr__(self, "_trusted", Proxies(self.proxies))

    @classmethod
    def from_file(cls, path: str | Path) -> Staff:
        """Staff of a password file; see `read_passwords`."""
        return cls(passwords=read_passwords(path))

    @classmethod
    def behind_proxy(cls, header: str, *proxies: str) -> Staff:
        """Staff whom a proxy at one of these addresses or networks has signed in, and names in that header.

        The proxy must take the header out of what it is sent.
        """
        return cls(header=header, proxies=proxies)

    @classmethod
    def on_loopback(cls, name: str = "demo") -> Staff:
        """A demo: whoever uses this machine is staff, without a password. `name` may be any, such as a login's."""
        return cls(demo=re.sub(r"[\s:]+", "-", name)[:64] or "demo")

    @property
    def is_real(self) -> bool:
        """Whether there is a login that strangers can't pass."""
        return self.demo is None and bool(self.passwords or self.header)

    @property
    def way(self) -> str:
        """How one signs in: `password`, `proxy`, `demo`, or `none` where nobody can."""
        if self.demo is not None:
            return "demo"
        return "password" if self.passwords else "proxy" if self.header is not None else "none"

    def session(self, request: Request, sessions: Sessions) -> Session | None:
        """The request's staff session."""
        if self.header is not None:
            name = self._named(request)
            if name is not None:
                return Session(Principal("staff", name, "signed_in"), f"proxy:{name}", float("inf"))
        if self.demo is not None:
            if not _is_at_this_machine(request):
                return None
            name = request.cookies.get(DEMO_COOKIE, "")
            name = name if is_name(name) else self.demo
            return Session(Principal("staff", name, "signed_in"), f"demo:{name}", float("inf"))
        session = sessions.read(request, "staff")
        # a name that was taken out of the file is nobody's, however long its last session would be good
        return session if session is not None and session.principal.id in self.passwords else None

    def check(self, name: str, password: str) -> bool:
        """Whether the password is that person's. It takes as long for a name that isn't there.

        The hash of somebody else stands in then, so that it takes as long as where the file has others than today's.
        """
        kept = self.passwords.get(name)
        found = matches(password, kept if kept is not None else next(iter(self.passwords.values()), _NOBODY))
        return found and kept is not None

    def _named(self, request: Request) -> str | None:
        """Whom a trusted proxy has signed in."""
        assert self.header is not None
        names = request.headers.getlist(self.header)
        if len(names) != 1 or not is_name(names[0]):
            return None
        return names[0] if self._trusted.holds(str(request.scope.get(PEER, ""))) else None


def is_name(text: str) -> bool:
    """Whether a member of staff can be called that."""
    return _NAME.fullmatch(text) is not None


def _is_at_this_machine(request: Request) -> bool:
    """Whether the request comes from here, and no proxy here passes it on for somebody elsewhere."""
    if any(name in request.headers for name in _PASSED_ON):
        return False
    try:
        return ipaddress.ip_address(str(request.scope.get(PEER, ""))).is_loopback
    except ValueError:
        return False


def read_passwords(path: str | Path) -> dict[str, str]:
    """A file of lines `name:hash`, as `python -m turnkeeper.web.staff NAME` prints them; # begins a comment.

    ConfigurationError names the line that can't be used.
    """
    try:
        lines = Path(path).read_text("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"the staff file {path} can't be read: {error}") from error
    found: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        name, _, kept = line.strip().partition(":")
        if not _NAME.fullmatch(name) or _parts(kept) is None:
            raise ConfigurationError(
                f"{path}, line {number}: expected NAME:HASH, as `python -m turnkeeper.web.staff NAME` prints"
            )
        if name in found:
            raise ConfigurationError(f"{path}, line {number}: {name} has a line already; keep one of them")
        found[name] = kept
    if not found:
        raise ConfigurationError(f"the staff file {path} names nobody")
    return found


def hashed(password: str) -> str:
    """The password's hash by scrypt, with a salt of its own. ConfigurationError for a password that is empty."""
    if not password:
        raise ConfigurationError("a password has at least one character")
    salt = secrets.token_bytes(16)
    return f"scrypt${_N}${_R}${_P}${_text(salt)}${_text(_scrypt(password, salt, _N, _R, _P))}"


def matches(password: str, kept: str) -> bool:
    """Whether it is the password of that hash."""
    parts = _parts(kept)
    if parts is None:
        return False
    n, r, p, salt, digest = parts
    return hmac.compare_digest(_scrypt(password, salt, n, r, p), digest)


def _scrypt(password: str, salt: bytes, n: int, r: int, p: int) -> bytes:
    # one form of what is typed: keyboards differ in whether é is one character or two (RFC 8265, section 4.2.2)
    given = unicodedata.normalize("NFC", password).encode("utf-8", "surrogatepass")
    return hashlib.scrypt(given, salt=salt, n=n, r=r, p=p, maxmem=_MOST_MEMORY, dklen=32)


def _parts(kept: str) -> tuple[int, int, int, bytes, bytes] | None:
    try:
        kind, *costs, salt, digest = kept.split("$")
        n, r, p = map(int, costs)
        found = (n, r, p, _bytes(salt), _bytes(digest))
    except ValueError:
        return None
    sound = kind == "scrypt" and 2**14 <= n <= 2**20 and n.bit_count() == 1 and 1 <= r <= 32 and 1 <= p <= 16
    return found if sound and 128 * r * (n + p + 4) <= _MOST_MEMORY and len(found[4]) == 32 else None


def _bytes(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


_NOBODY = f"scrypt${_N}${_R}${_P}${_text(bytes(16))}${_text(bytes(32))}"


def main() -> None:
    """Ask for a password and print the staff file's line."""
    import getpass  # noqa: PLC0415 - for the terminal only
    import sys  # noqa: PLC0415

    if len(sys.argv) != 2 or not _NAME.fullmatch(sys.argv[1]):
        sys.exit("usage: python -m turnkeeper.web.staff NAME >> staff.txt")
    try:
        sys.stdout.write(f"{sys.argv[1]}:{hashed(getpass.getpass('Password: '))}\n")
    except ConfigurationError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
