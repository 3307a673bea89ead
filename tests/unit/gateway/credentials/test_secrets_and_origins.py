"""Which secrets can be stored, where they may go, and the tokens made from them."""

import hmac
import json
from base64 import urlsafe_b64decode
from hashlib import sha256
from typing import Any

import pytest

from gateway.credentials import end_user_settings
from gateway.credentials.connection_secrets import InvalidSecret, check_secret, get_origin, iterate_needed, list_origins
from gateway.credentials.end_user_settings import EndUserRules
from gateway.credentials.token_endpoint import _parse_lifetime
from gateway.executors.http.request_builder import BuiltRequest
from gateway.executors.remote.credentials import set_cookie, set_header, set_query_parameter, sign_subject
from registry.catalog.connections import ConnectionConfig
from registry.models import Connection

ORIGINS = [
    ("https://api.example.com/v1", "https://api.example.com:443"),
    ("http://API.example.com:8080", "http://api.example.com:8080"),
    ("http://[::1]/x", "http://[::1]:80"),
    ("ftp://example.com", ""),
    ("", ""),
]


@pytest.mark.parametrize(("url", "origin"), ORIGINS)
def test_origin_has_scheme_host_and_port(url: str, origin: str) -> None:
    assert get_origin(url) == origin


def test_a_client_secret_belongs_to_the_token_endpoint_as_well() -> None:
    urls = {"base_url": "https://a.example", "token_url": "https://b.example/token"}

    plain = ConnectionConfig("crm", "http", auth=Connection.Auth.BEARER, **urls)
    oauth = ConnectionConfig("crm", "http", auth=Connection.Auth.CLIENT_CREDENTIALS, **urls)

    assert list_origins(plain) == "https://a.example:443"
    assert list_origins(oauth) == "https://a.example:443 https://b.example:443"


REFUSED = [
    ("token", "", "Use 1 to"),
    ("password", "two\nlines", "without line breaks"),
    ("token", "with space", "visible ASCII"),
    ("key", "schlüssel", "visible ASCII"),
    ("token", "env:SECRET_KEY", "begins with UPSTREAM_"),
    ("token", "env:UPSTREAM_A B", "begins with UPSTREAM_"),
]


@pytest.mark.parametrize(("name", "secret", "message"), REFUSED)
def test_unusable_secrets_are_refused(name: str, secret: str, message: str) -> None:
    with pytest.raises(InvalidSecret, match=message) as error:
        check_secret(name, secret)

    assert secret in ("", "env:") or secret not in str(error.value)


def test_references_need_no_encryption_and_secrets_do(settings: Any) -> None:
    settings.GATEWAY_ENCRYPTION_KEYS = []

    check_secret("token", "env:UPSTREAM_CRM_TOKEN")
    with pytest.raises(InvalidSecret, match="GATEWAY_ENCRYPTION_KEYS is not set"):
        check_secret("password", "pass word")


NEEDED = [
    ({"auth": "none"}, []),
    ({"auth": "bearer"}, ["token"]),
    ({"auth": "basic"}, ["password"]),
    ({"auth": "api_key"}, ["key"]),
    ({"auth": "client_credentials"}, ["client_secret"]),
    ({"auth": "user_oauth"}, []),  # public clients have none
    ({"auth": "bearer", "subject_as": "signed_token"}, ["token", "signing_key"]),
]


@pytest.mark.parametrize(("fields", "names"), NEEDED)
@pytest.mark.parametrize("own_keys", [True, False])
def test_each_kind_of_authentication_needs_its_secrets(
    monkeypatch: pytest.MonkeyPatch, fields: dict[str, str], names: list[str], own_keys: bool
) -> None:
    monkeypatch.setattr(end_user_settings, "get_rules", lambda _: EndUserRules(has_user_keys=own_keys))
    if own_keys:
        names = [name for name in names if name not in ("token", "password", "key")]

    assert list(iterate_needed(ConnectionConfig("crm", "http", **fields))) == names  # type: ignore[arg-type]


def test_subject_token_is_a_signed_jwt_for_one_minute() -> None:
    head, claims, signature = sign_subject("ana", audience="https://a.example:443", key="k").split(".")

    def decode(part: str) -> bytes:
        return urlsafe_b64decode(part + "=" * (-len(part) % 4))

    payload = json.loads(decode(claims))
    assert json.loads(decode(head)) == {"alg": "HS256", "typ": "JWT"}
    assert payload["exp"] - payload["iat"] == 60
    expected = {"iss": "tool-gateway", "sub": "ana", "aud": "https://a.example:443"}
    assert {name: payload[name] for name in ("iss", "sub", "aud")} == expected
    assert decode(signature) == hmac.digest(b"k", f"{head}.{claims}".encode(), sha256)


LIFETIMES = [
    (3600, 3600),
    ("60", 60),
    (10**12, 10 * 365 * 86_400),
    ("soon", None),
    (None, None),
]


@pytest.mark.parametrize(("value", "seconds"), LIFETIMES)
def test_lifetimes_of_tokens(value: Any, seconds: float | None) -> None:
    assert _parse_lifetime(value) == seconds


def build_request(url: str = "https://a.example/x", **headers: str) -> BuiltRequest:
    return BuiltRequest("GET", url, headers, None)


def test_what_is_added_replaces_what_args_put_in_the_same_place() -> None:
    url = "https://a.example/x?Key=1&api%5Fkey=forged&q=a+b%2F&api_key=forged#part"

    expected = {"a": "1", "Authorization": "Bearer t"}
    assert set_header(build_request(authorization="forged", a="1"), "Authorization", "Bearer t").headers == expected
    assert set_query_parameter(build_request(url), "api_key", "a b&c").url == (
        "https://a.example/x?Key=1&q=a+b%2F&api_key=a+b%26c#part"
    )
    assert set_cookie(build_request(cookie="sid=forged; lang=en"), "sid", 'a;"b').headers == {
        "Cookie": "lang=en; sid=a%3B%22b"
    }
