"""How a service authenticates: which schemes its operations need together."""

from typing import Any

import pytest

from tests.support.upstreams.openapi_documents import build_document, parse

KEY = {"type": "apiKey", "in": "header", "name": "X-Api-Key"}
APP = {"type": "apiKey", "in": "query", "name": "app_id"}
BEARER = {"type": "http", "scheme": "bearer"}
BASIC = {"type": "http", "scheme": "basic"}
SCHEMES = {"key": KEY, "app": APP, "bearer": BEARER, "basic": BASIC, "cert": {"type": "mutualTLS"}}


@pytest.mark.parametrize(
    ("security", "kind", "name", "more"),
    [
        ([{"key": [], "app": []}], "api_key", "X-Api-Key", (("query", "app_id"),)),
        ([{"app": [], "key": []}], "api_key", "app_id", (("header", "X-Api-Key"),)),
        ([{"bearer": [], "app": []}], "bearer", "", (("query", "app_id"),)),
        ([{"key": [], "basic": []}], "basic", "", (("header", "X-Api-Key"),)),
        ([{"key": []}, {"app": []}], "api_key", "X-Api-Key", ()),  # one of both
        ([{}, {"bearer": []}], "bearer", "", ()),
        ([{"cert": []}, {"bearer": []}], "bearer", "", ()),
        ([{"cert": [], "app": []}], "api_key", "app_id", ()),
        ([], "api_key", "X-Api-Key", ()),  # described, and used nowhere
    ],
)
@pytest.mark.parametrize("version", ["3.0.3", "2.0"])
def test_schemes_that_are_needed_together_are_all_sent(
    security: Any, kind: str, name: str, more: Any, version: str
) -> None:
    basic = {"type": "basic"} if version == "2.0" else BASIC
    bearer = {"type": "apiKey", "in": "header", "name": "Authorization"} if version == "2.0" else BEARER
    schemes = SCHEMES | {"basic": basic, "bearer": bearer}
    fields = {"securityDefinitions": schemes} if version == "2.0" else {"components": {"securitySchemes": schemes}}
    document = parse(build_document({"/pets": {"get": {}}}, version=version, security=security, **fields))

    assert (document.security.kind, document.security.name, document.security.more_keys) == (kind, name, more)
    assert any("app_id (query)" in remark for remark in document.remarks) is bool(
        more and "app_id" in str((name, more))
    )


def test_scheme_of_most_operations_is_taken_and_others_are_reported() -> None:
    paths = {
        "/a": {"get": {"security": [{"app": []}]}, "post": {"security": [{"app": []}]}},
        "/b": {"get": {"security": [{"bearer": []}]}, "post": {"security": []}},
    }
    document = parse(build_document(paths, components={"securitySchemes": SCHEMES}))

    assert (document.security.kind, document.security.name) == ("api_key", "app_id")
    (remark,) = document.remarks
    assert remark.startswith("1 operations need other credentials")
    assert "bearer" in remark
