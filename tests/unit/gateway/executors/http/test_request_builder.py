"""The request of a call: no value leaves its place, and a bad one is an error of its argument."""

import base64
from email import message_from_bytes
from email.message import Message
from typing import Any
from unittest.mock import Mock
from urllib.parse import parse_qsl, unquote, urlsplit

import httpx2
import orjson
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gateway.contracts.errors import InvalidRequestError
from gateway.executors.http.request_builder import build_request
from gateway.executors.remote.credentials import BuiltRequest
from registry.catalog.connections import ConnectionConfig
from registry.request_mapping import parse_mapping
from tests.support.loops import for_each

CONFIG = ConnectionConfig("shop", "http", "https://shop.test/v1/")
FILE = ('pen "red".png', "image/png", b"\x89PNG\r\n")
texts = st.text(st.characters(exclude_categories=["Cs"]))


def build(args: dict[str, Any], config: ConnectionConfig = CONFIG, **mapping: Any) -> BuiltRequest:
    """Build the request of a mapping, by default of one parameter {id} in the path."""
    parameters = [{"name": "id", "in": "path"}] if "path" not in mapping else []
    value = {"method": "GET", "path": "/orders/{id}/lines", "parameters": parameters} | mapping
    return build_request(parse_mapping(value), args, config, load_file=lambda _: FILE)


def build_with(content_type: str, args: dict[str, Any], **properties: Any) -> BuiltRequest:
    body = {"content_type": content_type, "properties": properties or {name: {} for name in args}}
    return build(args, method="POST", path="/orders", body=body)


def find_field_errors(args: dict[str, Any], **mapping: Any) -> list[tuple[str, str]]:
    with pytest.raises(InvalidRequestError) as error:
        build(args, **mapping)
    return [(each.path, each.code) for each in error.value.field_errors]


def parse_parts(request: BuiltRequest) -> list[Message]:
    head = f"Content-Type: {request.headers['content-type']}\r\n\r\n".encode()
    payload = message_from_bytes(head + (request.body or b"")).get_payload()
    assert isinstance(payload, list)
    return [part for part in payload if isinstance(part, Message)]


@given(value=texts | st.sampled_from(["a/../b", "%2e%2e%2f", "..\\..", "?x", "#x", "%252e%252e", "//host", "a;b"]))
def test_no_value_leaves_its_segment(value: str) -> None:
    try:
        url = build({"id": value}).url
    except InvalidRequestError:
        return

    assert httpx2.URL(url).raw_path.decode() == urlsplit(url).path  # the client changes nothing
    segments = urlsplit(url).path.split("/")
    assert [*segments[:3], *segments[4:]] == ["", "v1", "orders", "lines"]
    assert unquote(segments[3]) == value
    for _ in range(3):
        url = unquote(url)
        assert "/../" not in url
        assert "/./" not in url


@given(first=texts, second=texts)
def test_values_that_share_a_segment_make_no_dots(first: str, second: str) -> None:
    parameters = [{"name": "a", "in": "path"}, {"name": "b", "in": "path"}]
    try:
        url = build({"a": first, "b": second}, path="/x/{a}{b}/y", parameters=parameters).url
    except InvalidRequestError:
        return

    assert urlsplit(url).path.split("/")[3] not in (".", "..", "")


@for_each(
    "value, code",
    [
        ("", "empty"),
        (None, "required"),
        ("..", "path_traversal"),
        ("a/../b", "path_traversal"),
        ("..\\b", "path_traversal"),
        ("%252e%252e%252f", "path_traversal"),
        (["a", ".."], "path_traversal"),
        ({"a": {"b": ".."}}, "path_traversal"),
        ("%2525252525252e.", "path_traversal"),
        ("a\r\nb", "control_character"),
        ("a\x00", "control_character"),
    ],
)
def test_bad_path_value_is_an_error_of_its_argument(value: Any, code: str) -> None:
    assert find_field_errors({"id": value}) == [("/id", code)]


def test_all_bad_arguments_are_named_at_once() -> None:
    parameters = [
        {"name": "a", "in": "path"},
        {"name": "b", "in": "path", "argument": "x/y"},
        {"name": "H", "in": "header"},
    ]
    args = {"a": "..", "H": "one\r\nX-Admin: yes"}

    errors = find_field_errors(args, path="/{a}/{b}", parameters=parameters)

    assert errors == [("/a", "path_traversal"), ("/x~1y", "required"), ("/H", "header_value")]


@given(value=texts)
def test_header_value_is_one_line_or_refused(value: str) -> None:
    try:
        request = build({"H": value}, path="/x", parameters=[{"name": "H", "in": "header"}])
    except InvalidRequestError:
        assume(not (value.isascii() and value.isprintable()))
        return

    assert request.headers["h"] == value.strip(" \t")
    assert not set(request.headers["h"]) & set("\r\n\x00")


def test_argument_replaces_no_header_of_the_administrator() -> None:
    config = ConnectionConfig("shop", "http", "https://shop.test", headers={"X-Shop": "7"})
    parameters = [{"name": "x-shop", "in": "header", "argument": "shop"}, {"name": "x-op", "in": "header"}]

    request = build({"shop": "8", "x-op": "9"}, config, path="/x", parameters=parameters, headers={"X-Op": "6"})

    assert request.headers == {"accept": "application/json", "x-shop": "7", "x-op": "6"}


def test_values_in_json_keep_their_types() -> None:
    parameters = [
        {"name": name, "in": name, "content_type": "application/json"} for name in ("query", "header", "cookie")
    ]
    value = {"ü": [1, "a&b", None]}

    request = build(dict.fromkeys(("query", "header", "cookie"), value), path="/x", parameters=parameters)

    assert orjson.loads(parse_qsl(urlsplit(request.url).query)[0][1]) == value
    assert orjson.loads(request.headers["header"]) == value
    assert orjson.loads(unquote(request.headers["cookie"].removeprefix("cookie="))) == value


def test_arguments_that_were_not_sent_are_left_out() -> None:
    parameters = [{"name": name, "in": name} for name in ("query", "header", "cookie")]
    body = {"content_type": "application/json", "properties": {"note": {}}}

    request = build({"query": None}, path="/x", parameters=parameters, method="DELETE", body=body)

    assert (request.url, request.body) == ("https://shop.test/v1/x", None)
    assert request.headers == {"accept": "application/json"}


def test_json_body_has_the_names_of_the_service() -> None:
    request = build_with(
        "application/vnd.shop+json", {"product": "pen", "note": None}, product={"name": "sku"}, note={}
    )

    assert request.headers["content-type"] == "application/vnd.shop+json"
    assert orjson.loads(request.body or b"") == {"sku": "pen", "note": None}


def test_json_body_without_arguments_is_an_empty_object() -> None:
    assert build_with("application/json", {}, note={}).body == b"{}"


def test_file_in_a_json_body_is_base64() -> None:
    request = build_with("application/json", {"photos": ["f1"]}, photos={"is_file": True})

    assert orjson.loads(request.body or b"") == {"photos": [base64.b64encode(FILE[2]).decode()]}


@for_each(
    "content_type, value, body",
    [
        ("application/json", [1, {"a": None}], b'[1,{"a":null}]'),
        ("text/plain", "two\nlines ü", "two\nlines ü".encode()),
        ("text/csv; header=present", 7, b"7"),
        ("application/x-www-form-urlencoded", {"a": "b c", "d": [1, 2], "e": None}, b"a=b%20c&d=1&d=2"),
    ],
)
def test_one_argument_can_be_the_whole_body(content_type: str, value: Any, body: bytes) -> None:
    request = build({"all": value}, method="PUT", path="/x", body={"content_type": content_type, "argument": "all"})

    assert (request.headers["content-type"], request.body) == (content_type, body)


def test_form_body_has_the_styles_of_its_properties() -> None:
    properties = {
        "tags": {"explode": False},
        "where": {"style": "deepObject"},
        "raw": {"content_type": "application/json"},
    }
    args = {"tags": ["a", "b,c"], "where": {"x": "y"}, "raw": {"n": 1}}

    request = build_with("application/x-www-form-urlencoded", args, **properties)

    assert request.body == b"tags=a,b%2Cc&where%5Bx%5D=y&raw=%7B%22n%22%3A1%7D"


def test_multipart_body_has_a_part_for_each_value() -> None:
    properties = {"photo": {"is_file": True, "name": 'ph"oto'}, "tags": {}, "meta": {}}

    request = build_with("multipart/form-data", {"photo": "f1", "tags": ["a", "b"], "meta": {"n": 1}}, **properties)

    parts = parse_parts(request)
    assert [part["Content-Disposition"] for part in parts] == [
        'form-data; name="ph%22oto"; filename="pen %22red%22.png"',
        'form-data; name="tags"',
        'form-data; name="tags"',
        'form-data; name="meta"',
    ]
    assert [part["Content-Type"] for part in parts] == ["image/png", None, None, "application/json"]
    assert [part.get_payload(decode=True) for part in parts] == [FILE[2], b"a", b"b", b'{"n":1}']


@given(name=texts.filter(bool), value=texts)
def test_no_value_ends_its_part(name: str, value: str) -> None:
    request = build_with("multipart/form-data", {"a": value, "b": "end"}, a={"name": name}, b={})

    boundary = request.headers["content-type"].partition("boundary=")[2].encode()
    parts = (request.body or b"").split(b"--" + boundary)
    assert len(parts) == 4
    head, _, content = parts[1].partition(b"\r\n\r\n")
    assert head.count(b"\r\n") == 1
    assert content == value.encode() + b"\r\n"


def test_unknown_file_is_an_error_of_its_argument() -> None:
    body = {"content_type": "application/json", "properties": {"photo": {"is_file": True}}}
    mapping = parse_mapping({"method": "POST", "path": "/x", "body": body})

    refuse = Mock(side_effect=InvalidRequestError("There is no such file."))
    for value in ("f1", 7):
        with pytest.raises(InvalidRequestError) as error:
            build_request(mapping, {"photo": value}, CONFIG, load_file=refuse)
        assert [(each.path, each.code) for each in error.value.field_errors] == [("/photo", "file")]


def test_request_has_no_repr_that_logs_could_show() -> None:
    assert "secret" not in repr(build({"id": "secret"}))
