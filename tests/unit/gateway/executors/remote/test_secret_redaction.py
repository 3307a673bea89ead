"""Credentials that a service repeats are removed, in each form in which services write what they got."""

import base64
import json
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import http
from gateway.executors.http import error_body
from gateway.executors.remote.credentials import BuiltRequest
from gateway.executors.remote.secret_redaction import Redactor, build_redactor
from tests.support.growth import assert_linear
from tests.support.loops import for_each

SECRET = 'hunter2+tök/en&"7"'
BASIC = "Basic " + base64.b64encode(b"shop:correct horse").decode()
BUILT = BuiltRequest("GET", "https://shop.test/?a=1", {"accept": "*/*"})
REDACTOR = Redactor((SECRET,))


def escape_all(text: str) -> str:
    return "".join(f"\\u{ord(letter):04x}" for letter in text)


FORMS = {
    "as it is": SECRET,
    "percent-encoded": quote(SECRET, safe=""),
    "percent-encoded in lower case": quote(SECRET, safe="").lower(),
    "percent-encoded as a whole": "".join(f"%{byte:02x}" for byte in SECRET.encode()),
    "JSON within a text": json.dumps({"echo": SECRET}),
    "JSON within a text, not ASCII": json.dumps({"echo": SECRET}, ensure_ascii=False),
    "escaped as a whole": escape_all(SECRET),
    "base64": base64.b64encode(SECRET.encode()).decode(),
    "base64 within more": base64.b64encode(f"Bearer {SECRET}; more".encode()).decode(),
    "base64 at another place": base64.b64encode(f"ab{SECRET}c".encode()).decode(),
    "base64 for URLs": base64.urlsafe_b64encode(f"x{SECRET}".encode()).decode(),
    "base64 of UTF-16": base64.b64encode(SECRET.encode("utf-16-le")).decode(),
    "hex": SECRET.encode().hex(),
    "HTML": "hunter2+t&#246;k/en&amp;&quot;7&quot;",
}


@pytest.mark.parametrize(
    "sent",
    [
        BUILT.with_headers({"Authorization": "Bearer hunter2-token"}),
        BUILT.with_headers({"X-Key": "hunter2-token"}),
        BUILT.with_headers({"Cookie": "session=hunter2-token"}),
        BuiltRequest("GET", "https://shop.test/?a=1&key=hunter2-token", BUILT.headers),
    ],
)
def test_credentials_that_were_sent_are_the_secrets(sent: BuiltRequest) -> None:
    value = {"echo": "hunter2-token", "hunter2-token": ["*/*", 1]}

    assert build_redactor(BUILT, sent).redact_value(value) == {"echo": "***", "***": ["*/*", 1]}
    assert build_redactor(BUILT, BUILT).redact_value(value) is value


def test_password_of_basic_is_a_secret() -> None:
    redactor = build_redactor(BUILT, BUILT.with_headers({"Authorization": BASIC}))

    assert redactor.redact_text(f"{BASIC} is shop with correct horse") == "Basic *** is shop with ***"


def test_a_secret_that_contains_another_one_goes_as_a_whole() -> None:
    basic = "Basic " + base64.b64encode(b"server:server-2024-prod!").decode()
    redactor = build_redactor(BUILT, BUILT.with_headers({"Authorization": basic, "X-Key": "server-2024"}))

    assert redactor.redact_text("pw is server-2024-prod! ok") == "pw is *** ok"
    assert redactor.redact_text("server-2024") == "***"


def test_name_of_basic_is_no_secret() -> None:
    basic = "Basic " + base64.b64encode(b"acme-corp:correct horse").decode()
    redactor = build_redactor(BUILT, BUILT.with_headers({"Authorization": basic}))

    value = {"url": "https://github.test/acme-corp/repo"}
    assert redactor.redact_value(value) is value
    assert redactor.redact_text("acme-corp:correct horse") == "***"


@pytest.mark.parametrize("mark", ["\0", "\u200b", "\ufeff", "\u202e"])
def test_invisible_characters_do_not_part_a_secret(mark: str) -> None:
    parted = mark.join("hunter2-token")
    redactor = build_redactor(BUILT, BUILT.with_headers({"X-Key": "hunter2-token"}))
    answer = http.Response(400, "", {"content-type": "text/plain"}, f"bad key {parted}".encode(), 0)

    assert redactor.redact_value({"a": [parted], parted: 1}) == {"a": ["***"], "***": 1}
    assert error_body.parse_error_body(answer, redactor).message == "bad key ***"


def test_schemes_and_names_of_cookies_are_no_secrets() -> None:
    redactor = build_redactor(
        BUILT, BUILT.with_headers({"Authorization": "Bearer hunter2", "Cookie": "session=abc123"})
    )

    assert redactor.redact_text("Bearer hunter2 of session abc123") == "Bearer *** of session ***"


@for_each("form, text", FORMS.items())
def test_every_form_of_a_secret_is_removed(form: str, text: str) -> None:
    for value in (text, f"You sent {text} to us", [{"a": text}], {text: 1}):
        shown = json.dumps(REDACTOR.redact_value(value), ensure_ascii=False)

        assert "***" in shown, form
        assert SECRET not in shown
        assert text not in shown


@for_each("encoding", ["utf-8", "utf-16-le", "utf-16-be"])
def test_files_have_no_secrets(encoding: str) -> None:
    content = REDACTOR.redact_bytes(b"\x89PNG" + SECRET.encode(encoding) + b"\xff")

    assert content == b"\x89PNG***\xff"


@given(
    st.recursive(
        st.text() | st.integers() | st.none(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_other_values_stay_as_they_are(value: Any) -> None:
    assert REDACTOR.redact_value(value) == value


@for_each(
    "build",
    [
        lambda size: [f"row {number}" for number in range(size)],
        lambda size: {f"name {number}": 1 for number in range(size)},
        lambda size: "%41\\u0041&amp;" * (size // 10),
        lambda size: [SECRET] * (size // 10),
    ],
)
def test_redaction_time_is_linear(build: Any) -> None:
    assert_linear(REDACTOR.redact_value, build, size=100_000)
