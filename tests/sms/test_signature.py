"""Twilio's signatures: the documented example, both algorithms, ports, and what must not pass."""

from __future__ import annotations

import pytest

from turnkeeper import sms
from turnkeeper.testing import TwilioAPI

URL = "https://mycompany.com/myapp.php?foo=1&bar=2"
FIELDS = [
    ("CallSid", "CA1234567890ABCDE"),
    ("Digits", "1234"),
    ("From", "+14158675309"),
    ("To", "+18005551212"),
    ("Caller", "+14158675309"),
]
"""The example of Twilio's documentation (usage/security) and of its libraries' tests; the token is 12345."""


def genuine(url: str = URL, **given: str) -> bool:
    settings = {"signature": "RSOYDt4T1cUTdK1PDd93/VVr8B8=", "auth_token": "12345", **given}
    return sms.is_genuine(url, FIELDS, **settings)  # type: ignore[arg-type]


def test_the_documented_example_has_the_documented_signature() -> None:
    assert sms.signature_of("12345", URL, FIELDS) == "RSOYDt4T1cUTdK1PDd93/VVr8B8="
    assert genuine()


@pytest.mark.parametrize(
    ("body", "sha1", "sha256"),
    [
        ("Hello", "UtFpI1mrjz2+8lpI2DiuQBtXKas=", "GhqOfmgfmRK4u0V1j+/oi2pUIw39mwqisaFPsnT4bvQ="),
        ("Привет, мир", "oNzB38Myqeyt3c+oIEgQBXrt9gA=", "qiPC27TeSEZ1bh6xzG/W/Z5orqoTQSMKQhkgVam+7bE="),
        ("你好 😀", "xqfzmEB1M82xJAyfJ96XtQ8aKHw=", "MXl4Smfyrc4Ghf8fZkr9QS5QqA3E1D0mI/FY0Z02w0o="),
        ("a=b&c+d %41", "6O3G3ZQ3+A75lUTX0CMS7mH0Nnk=", "Q0S3qlIc1IDL0CTpxENfYEleE34ObEAj06QBWuiGpJo="),
    ],
)
def test_openssl_came_to_the_same(body: str, sha1: str, sha256: str) -> None:
    """Made with `printf '%s' "https://bot.example/smsBody…From+4915112345678" | openssl dgst -sha1 -hmac s3cret …`."""
    fields = [("From", "+4915112345678"), ("Body", body)]
    url = "https://bot.example/sms"
    assert sms.signature_of("s3cret", url, fields) == sha1
    assert sms.signature_of("s3cret", url, fields, algorithm="HMAC_SHA256") == sha256


@pytest.mark.parametrize(
    ("url", "given"),
    [
        ("https://mycompany.com/other", {}),
        ("http://mycompany.com/myapp.php?foo=1&bar=2", {}),
        ("https://mycompany.com:8443/myapp.php?foo=1&bar=2", {"signature": ""}),
        (URL, {"auth_token": "12346"}),
        (URL, {"auth_token": ""}),
        (URL, {"signature": ""}),
        (URL, {"signature": "подпись"}),
        (URL, {"signature": "rsoydt4t1cutdk1pdd93/vvr8b8="}),
        (URL, {"settings": "key=K1,algorithm=HMAC_SHA256"}),  # a shared key that isn't known
        (URL, {"settings": "algorithm=none"}),
        (URL, {"settings": "nonsense"}),
    ],
)
def test_what_is_not_signed_so_is_not_genuine(url: str, given: dict[str, str]) -> None:
    assert not genuine(url, **given)


@pytest.mark.parametrize("address", ["https://bot.example", "https://bot.example:443", "https://[2001:db8::1]"])
@pytest.mark.parametrize("signed", ["", ":443"])
def test_the_port_may_be_there_or_not(address: str, signed: str) -> None:
    twilio = TwilioAPI()
    form = twilio.form("+4915112345678", "Hi")
    headers = twilio.signed(f"{address.removesuffix(':443')}{signed}/sms", form)
    assert sms.is_genuine(
        f"{address}/sms", form.items(), signature=headers["X-Twilio-Signature"], auth_token=twilio.auth_token
    )
    other = twilio.signed(f"{address.removesuffix(':443')}:8443/sms", form)["X-Twilio-Signature"]
    assert not sms.is_genuine(f"{address}/sms", form.items(), signature=other, auth_token=twilio.auth_token)


def test_a_field_that_comes_twice_counts_once_for_each_value() -> None:
    twice = [("A", "1"), ("A", "2"), ("A", "1"), ("B", "")]
    assert sms.signature_of("t", "https://x", twice) == sms.signature_of("t", "https://x", sorted(set(twice)))


def test_a_shared_key_signs_with_the_algorithm_that_its_header_names() -> None:
    twilio = TwilioAPI()
    form = twilio.form("+4915112345678", "Hi")
    headers = twilio.signed("https://bot.example/sms", form, shared_key=("K1", "secret"))
    signature, said = headers["X-Twilio-Signature"], headers["X-Twilio-Webhooks-Signature-Settings"]
    for keys, right in (({"K1": "secret"}, True), ({"K1": "other"}, False), ({"K2": "secret"}, False), ({}, False)):
        assert right is sms.is_genuine(
            "https://bot.example/sms",
            form.items(),
            signature=signature,
            settings=said,
            auth_token=twilio.auth_token,
            shared_keys=keys,
        )
