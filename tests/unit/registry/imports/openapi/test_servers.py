"""The address of a service: always at the host that its document names."""

from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.imports.openapi.servers import find_base_url

URL = "https://docs.example.com/v1/openapi.json"


@pytest.mark.parametrize(
    ("fields", "address"),
    [
        ({"host": "api.example.com", "basePath": "v2"}, "https://api.example.com/v2"),
        ({"host": "api.example.com", "basePath": "/v2/"}, "https://api.example.com/v2"),
        ({"host": "api.example.com:8443", "basePath": "v2"}, "https://api.example.com:8443/v2"),
        ({"host": "api.example.com", "basePath": "@evil.example"}, "https://api.example.com/@evil.example"),
        ({"host": "api.example.com", "basePath": ".evil.example"}, "https://api.example.com/.evil.example"),
        ({"host": "api.example.com", "basePath": ":80@evil.example"}, "https://api.example.com/:80@evil.example"),
        ({"host": "api.example.com", "basePath": "https://evil.example/v2"}, "https://api.example.com/v2"),
        ({"host": "https://api.example.com", "basePath": "/v2"}, "https://api.example.com/v2"),
        ({"host": "http://api.example.com/", "basePath": "v2"}, "http://api.example.com/v2"),
        ({"host": "api.example.com/base", "basePath": "/v2"}, "https://api.example.com/base/v2"),
        ({"host": "api.example.com", "schemes": ["http", "wss"]}, "http://api.example.com"),
        ({"host": "user:password@api.example.com"}, ""),
        ({"host": "api.example.com\\@evil.example"}, ""),
        ({"host": "api.example.com evil.example"}, ""),
        ({"basePath": "v2"}, "https://docs.example.com/v2"),
        ({}, "https://docs.example.com"),
    ],
)
def test_address_of_swagger_has_its_host(fields: dict[str, Any], address: str) -> None:
    assert find_base_url({"swagger": "2.0"} | fields, URL) == address


@pytest.mark.parametrize(
    ("url", "variables", "address"),
    [
        ("https://api.example.com{base}", {"base": "v2"}, "https://api.example.com/v2"),
        ("https://api.example.com{base}", {"base": "/v2"}, "https://api.example.com/v2"),
        ("https://api.example.com{base}", {"base": ":8443/v2"}, "https://api.example.com:8443/v2"),
        ("https://api.example.com:{port}/{base}", {"port": 8443, "base": "v2"}, "https://api.example.com:8443/v2"),
        ("https://{region}.example.com/", {"region": "eu"}, "https://eu.example.com"),
        ("https://{region}.example.com/", {"region": "evil.example/"}, ""),
        ("https://{region}.example.com/", {"region": "evil.example#"}, ""),
        ("https://api.example.com{base}", {"base": "@evil.example"}, ""),
        ("{scheme}://{host}/v1", {"scheme": "https", "host": "api.example.com"}, "https://api.example.com/v1"),
        ("{server}/v1", {"server": "https://api.example.com"}, "https://api.example.com/v1"),
        ("https://api.example.com/{unknown}", {}, ""),
        ("//api.example.com/v1", {}, "https://api.example.com/v1"),
        ("v2", {}, "https://docs.example.com/v1/v2"),
        ("/v2", {}, "https://docs.example.com/v2"),
        ("https://api.example.com/a b", {}, ""),
        ("ftp://api.example.com", {}, ""),
        ("https://api.example.com:99999", {}, ""),
    ],
)
def test_address_of_a_server_has_its_host(url: str, variables: dict[str, Any], address: str) -> None:
    server = {"url": url, "variables": {name: {"default": value} for name, value in variables.items()}}

    assert find_base_url({"openapi": "3.0.3", "servers": [server]}, URL) == address


@given(st.text(max_size=30))
def test_no_base_path_changes_the_host(base: str) -> None:
    address = find_base_url({"swagger": "2.0", "host": "api.example.com", "basePath": base}, "")

    assert not address or urlsplit(address).netloc == "api.example.com"
