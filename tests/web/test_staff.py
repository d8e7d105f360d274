"""Staff's passwords: the file, the check, and what a header or a cookie of somebody else is worth."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request

from turnkeeper.errors import ConfigurationError
from turnkeeper.web import Staff
from turnkeeper.web.sessions import Sessions
from turnkeeper.web.staff import hashed, main, matches, read_passwords

PASSWORD = "Пароль 密码 🔑 café"


def kept(password: str, n: int = 2**14, r: int = 8, p: int = 1) -> str:
    """A line's hash at the least cost that is taken, made here."""
    salt = b"sixteen bytes .."
    digest = hashlib.scrypt(password.encode(), salt=salt, n=n, r=r, p=p, maxmem=2**28, dklen=32)
    return f"scrypt${n}${r}${p}${base64.b64encode(salt).decode()}${base64.b64encode(digest).decode()}"


def test_the_right_password_of_that_very_name_and_no_other_is_taken() -> None:
    staff = Staff(passwords={"ana": kept(PASSWORD), "анна": kept("other")})
    assert staff.check("ana", PASSWORD)
    assert staff.check("анна", "other")
    for name, password in (
        ("ana", ""),
        ("ana", "other"),
        ("ana", PASSWORD + " "),
        ("ana", PASSWORD.lower()),
        ("ana", "\ud800"),
        ("ana", "\0" + PASSWORD),
        ("ana", "x" * 100_000),
        ("ana", kept(PASSWORD)),
        ("Ana", PASSWORD),
        ("аna", PASSWORD),  # a Cyrillic letter
        ("", PASSWORD),
        ("", ""),
        ("nobody", PASSWORD),
        ("nobody", "other"),
    ):
        assert not staff.check(name, password), (name, password[:20])
    assert not Staff().check("ana", PASSWORD)
    assert not Staff().check("", "")


def test_a_password_is_the_same_in_either_form_of_its_characters_and_hashed_with_a_salt_of_its_own() -> None:
    one, other = hashed("caf\u00e9"), hashed("caf\u00e9")
    assert one != other
    assert "caf" not in one
    assert matches("cafe\u0301", one)
    assert matches("caf\u00e9", other)
    assert not matches("cafe", one)
    with pytest.raises(ConfigurationError, match="at least one character"):
        hashed("")


@pytest.mark.parametrize("n", [2**14, 2**15])
def test_a_name_that_is_not_there_costs_the_same_work(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    staff = Staff(passwords={"ana": kept(PASSWORD, n)})
    done: list[dict[str, Any]] = []
    scrypt = hashlib.scrypt

    def counted(password: bytes, *, salt: bytes, **cost: Any) -> bytes:
        done.append(cost | {"salt": len(salt)})
        return scrypt(password, salt=salt, **cost)

    monkeypatch.setattr(hashlib, "scrypt", counted)
    for name in ("ana", "nobody", "", "\ud800"):
        assert not staff.check(name, "wrong")
    assert len(done) == 4
    assert all(one == done[0] for one in done)
    assert (done[0]["n"], done[0]["r"], done[0]["p"]) == (n, 8, 1)


def test_a_file_of_passwords_is_read_with_its_comments(tmp_path: Path) -> None:
    path = tmp_path / "staff.txt"
    path.write_bytes(f"\ufeffana:{kept('a')}\r\n\r\n# бывшие\r\n 李:{kept('b')} \r\n".encode())
    assert read_passwords(path) == {"ana": kept("a"), "李": kept("b")}
    assert Staff.from_file(path).check("李", "b")
    assert Staff.from_file(path).is_real


GOOD = kept("x")
_, N, R, P, SALT, DIGEST = GOOD.split("$")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("ana:secret", 1),
        ("ana", 1),
        (f"# one\nana:{GOOD}\nben", 3),
        (f":{GOOD}", 1),
        (f"a na:{GOOD}", 1),
        (f"{'x' * 65}:{GOOD}", 1),
        (f"ana: {GOOD}", 1),
        (f"ana:{GOOD}$", 1),
        (f"ana:{GOOD}:{GOOD}", 1),
        (f"ana:bcrypt${N}${R}${P}${SALT}${DIGEST}", 1),
        (f"ana:scrypt$1024${R}${P}${SALT}${DIGEST}", 1),
        (f"ana:scrypt$16385${R}${P}${SALT}${DIGEST}", 1),
        (f"ana:scrypt$1048576${R}${P}${SALT}${DIGEST}", 1),
        (f"ana:scrypt$many${R}${P}${SALT}${DIGEST}", 1),
        (f"ana:scrypt${N}$0${P}${SALT}${DIGEST}", 1),
        (f"ana:scrypt${N}${R}${P}${SALT}$", 1),
        (f"ana:scrypt${N}${R}${P}${SALT}${DIGEST[:-8]}", 1),
        (f"ana:scrypt${N}${R}${P}$соль${DIGEST}", 1),
        (f"ana:{GOOD}\nana:{GOOD}", 2),
    ],
)
def test_a_line_that_can_not_be_used_is_named(tmp_path: Path, text: str, line: int) -> None:
    """Nothing that is read can fail later, at a login."""
    path = tmp_path / "staff.txt"
    path.write_text(text, "utf-8")
    with pytest.raises(ConfigurationError, match=f"line {line}: ") as caught:
        read_passwords(path)
    assert DIGEST not in str(caught.value)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("content", [None, b"", b"# nobody\n\n", b"ana:\xff\n"])
def test_a_file_that_names_nobody_or_can_not_be_read_is_refused(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "staff.txt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigurationError, match=r"staff\.txt (names nobody|can't be read)"):
        Staff.from_file(path)


@pytest.mark.parametrize("bad", ["", "ana", GOOD.replace("scrypt", "plain"), f"scrypt$16385$8$1${SALT}${DIGEST}"])
def test_a_hash_that_is_none_matches_nothing(bad: str) -> None:
    assert not matches("x", bad)
    assert not Staff(passwords={"ana": bad}).check("ana", "x")


def test_the_command_prints_a_line_that_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("getpass.getpass", lambda _: "пароль")
    monkeypatch.setattr("sys.argv", ["staff", "ana"])
    main()
    (tmp_path / "staff.txt").write_text(capsys.readouterr().out, "utf-8")
    assert Staff.from_file(tmp_path / "staff.txt").check("ana", "пароль")
    for arguments in ([], ["a", "b"], ["a:b"]):
        monkeypatch.setattr("sys.argv", ["staff", *arguments])
        with pytest.raises(SystemExit, match="usage: "):
            main()
    monkeypatch.setattr("getpass.getpass", lambda _: "")
    monkeypatch.setattr("sys.argv", ["staff", "ana"])
    with pytest.raises(SystemExit, match="at least one character"):
        main()
    assert capsys.readouterr().out == ""


def request(address: str = "10.0.0.9", **headers: str) -> Request:
    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "method": "GET", "path": "/", "headers": raw, "scheme": "http", "server": ("h", 80)}
    return Request(scope | {"query_string": b"", "client": (address, 1), "turnkeeper.peer": address})


def test_without_a_login_nobody_is_staff_whatever_they_send() -> None:
    sessions = Sessions(b"k" * 32, lambda: 0.0)
    for sent in (request(x_user="ana"), request(cookie="turnkeeper_demo=ana"), request(authorization="Basic YW5hOg==")):
        assert Staff(passwords={"ana": GOOD}).session(sent, sessions) is None
        assert Staff().session(sent, sessions) is None


def test_a_header_names_staff_only_where_the_proxy_itself_sends_it_once() -> None:
    sessions = Sessions(b"k" * 32, lambda: 0.0)
    staff = Staff(header="x-user", proxies=["10.0.0.0/24"])
    found = staff.session(request(x_user="ana"), sessions)
    assert found is not None
    assert (found.principal.kind, found.principal.id) == ("staff", "ana")
    twice = request(x_user="ana")
    twice.scope["headers"].append((b"x-user", b"ben"))
    for sent in (request("10.0.1.9", x_user="ana"), request(x_user="a na"), request(x_user=""), request(), twice):
        assert staff.session(Request(sent.scope), sessions) is None
    with pytest.raises(ConfigurationError, match="believed from the proxy only"):
        Staff(header="x-user")
