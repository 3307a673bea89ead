"""What an imported operation sends is what its document says: each class of documents, from the text to the bytes."""

from typing import Any

import pytest

from tests.support.upstreams.documented_calls import (
    Refused,
    describe_get,
    describe_post,
    read_operation,
    refer,
    send,
)

LARGE = 9_007_199_254_740_993  # 2^53 + 1, which a double cannot hold
BINARY = {"type": "string", "format": "binary"}
TEXT = {"type": "string"}


def query(schema: Any, name: str = "a", **fields: Any) -> dict[str, Any]:
    return {"name": name, "in": "query", "schema": schema} | fields


# ----- numbers


@pytest.mark.parametrize(
    "schema",
    [
        *({"type": "integer", key: bound} for key in ("maximum",) for bound in (2**53, 2**63 - 1, 2**64 - 1)),
        {"type": "integer", "minimum": -(2**63)},
        {"type": "integer", "exclusiveMaximum": 2**63},
        {"type": "integer", "multipleOf": 1, "maximum": 10**30},
        {"type": "integer", "example": 2**60 + 1, "default": 2**60 + 1},
    ],
)
def test_bound_beyond_a_double_keeps_the_operation(schema: Any) -> None:
    document = describe_get(query(schema), version="3.1.0")

    assert send(document, a=5).target == "GET /things?a=5"
    assert (
        read_operation(document).mapped.schema["properties"]["a"].items()
        >= {key: value for key, value in schema.items() if key != "example"}.items()
    )


@pytest.mark.parametrize("sent", [LARGE, str(LARGE)])
def test_id_of_64_bits_is_sent_digit_for_digit(sent: Any) -> None:
    big = {"type": "integer", "format": "int64"}
    path = {"name": "id", "in": "path", "required": True, "schema": big}
    assert send(describe_get(path, path="/things/{id}"), id=sent).target == f"GET /things/{LARGE}"
    ids = {"type": "array", "items": refer("Id")}
    document = describe_post({"type": "object", "properties": {"ids": ids, "id": refer("Id")}}, Id=big)
    assert send(document, ids=[sent], id=sent).body == f'{{"ids":[{LARGE}],"id":{LARGE}}}'.encode()
    assert send(describe_get(query(big | {"nullable": True})), a=sent).target == f"GET /things?a={LARGE}"


def test_integer_of_more_than_64_bits_is_sent_as_a_number() -> None:
    document = describe_post({"type": "object", "properties": {"a": {"type": "integer"}}})

    assert send(document, a=str(2**70)).body == f'{{"a":{2**70}}}'.encode()
    with pytest.raises(Refused):
        send(document, a="12")  # small ones can be sent as numbers


# ----- enum, const, default


@pytest.mark.parametrize(
    ("written", "texts"),
    [
        ("[1.0, 1.1, 2.0]", ["1.0", "1.1", "2.0"]),
        ("[08, 1e3, 0x1F, 1_000]", ["08", "1e3", "0x1F", "1_000"]),
        ("[true, false, yes]", ["true", "false", "yes"]),
        ("[2026-01-31, 12:30, ~]", ["2026-01-31", "12:30"]),
    ],
)
def test_enum_of_texts_is_as_written_in_yaml(written: str, texts: list[str]) -> None:
    document = f"""
openapi: 3.0.3
info: {{title: A, version: '1'}}
paths:
  /things:
    get:
      parameters:
        - {{name: a, in: query, schema: {{enum: {written}, type: string}}}}
        - name: b
          in: query
          schema:
            type: string
            default: 1.10
      responses: {{'200': {{description: It}}}}
"""
    assert read_operation(document).mapped.schema["properties"]["a"]["enum"] == texts
    assert send(document, a=texts[0]).target == f"GET /things?a={texts[0].replace(':', '%3A')}&b=1.10"


@pytest.mark.parametrize(
    ("schema", "value", "target"),
    [
        ({"type": "string", "enum": [1, 2.5, True]}, "2.5", "a=2.5"),
        ({"type": "integer", "enum": ["1", "2"]}, 2, "a=2"),
        ({"type": "boolean", "enum": ["true"]}, True, "a=true"),
        ({"type": "array", "items": {"type": "string"}, "enum": ["x", "y"]}, ["y"], "a=y"),
        ({"type": "array", "items": {"type": "integer"}, "enum": ["1", "2"]}, [1, 2], "a=1&a=2"),
        ({"type": "string", "nullable": True, "enum": [1, None]}, "1", "a=1"),
    ],
)
def test_enum_fits_its_type(schema: Any, value: Any, target: str) -> None:
    assert send(describe_get(query(schema)), a=value).target == f"GET /things?{target}"


@pytest.mark.parametrize(
    ("schema", "target", "is_reported"),
    [
        ({"type": "string", "default": ""}, "", False),
        ({"type": "string", "default": None}, "", False),
        ({"type": "integer", "default": "10"}, "?a=10", False),
        ({"type": "integer", "default": 10.0}, "?a=10", False),
        ({"type": "string", "default": 1.5}, "?a=1.5", False),
        ({"type": "string", "enum": ["asc", "desc"], "default": ""}, "", True),
        ({"type": "integer", "maximum": 5, "default": 10}, "", True),
        ({"type": "array", "items": {"type": "string"}, "default": "a"}, "", True),
        ({"type": "string", "format": "date", "default": "today"}, "", True),
        ({"allOf": [{"type": "integer"}], "default": "ten"}, "", True),
    ],
)
def test_default_is_sent_only_if_it_fits(schema: Any, target: str, is_reported: bool) -> None:
    document = describe_get(query(schema))

    assert send(document).target == f"GET /things{target}"
    assert any("The default of a" in each for each in read_operation(document).mapped.remarks) is is_reported


# ----- schemas of bodies


@pytest.mark.parametrize("keyword", ["oneOf", "anyOf"])
def test_all_values_of_a_discriminator_are_accepted(keyword: str) -> None:
    mapping = {"credit": refer("Card")["$ref"], "debit": "Card", "wire": refer("Transfer")["$ref"]}
    document = describe_post(
        {keyword: [refer("Card"), refer("Transfer")], "discriminator": {"propertyName": "type", "mapping": mapping}},
        Card={"type": "object", "required": ["type"], "properties": {"type": TEXT, "number": TEXT}},
        Transfer={"type": "object", "required": ["type"], "properties": {"type": TEXT, "iban": TEXT}},
    )

    for value in ("credit", "debit", "wire"):
        assert send(document, body={"type": value}).json == {"type": value}
    with pytest.raises(Refused):
        send(document, body={"type": "cash"})


@pytest.mark.parametrize(
    ("extra", "is_accepted"), [(True, True), ({}, True), ({"type": "integer"}, True), (False, False)]
)
@pytest.mark.parametrize("media_type", ["application/json", "application/x-www-form-urlencoded"])
def test_fields_without_a_name_are_sent_if_the_document_allows_them(
    extra: Any, is_accepted: bool, media_type: str
) -> None:
    schema = {"type": "object", "properties": {"name": TEXT}, "additionalProperties": extra}
    document = describe_post(schema, media_type)
    body = {"application/json": b'{"name":"Ada","shoe_size":38}'}.get(media_type, b"name=Ada&shoe_size=38")

    if is_accepted:
        assert send(document, name="Ada", shoe_size=38).body == body
    else:
        with pytest.raises(Refused):
            send(document, name="Ada", shoe_size=38)
    if extra == {"type": "integer"}:
        with pytest.raises(Refused):
            send(document, name="Ada", shoe_size="large")


OWNER = {"type": "object", "allOf": [{"type": "object"}], "properties": {"since": TEXT}}


@pytest.mark.parametrize(
    ("version", "owner"),
    [
        ("3.1.0", {"anyOf": [refer("Owner"), {"type": "null"}]}),
        ("3.1.0", {"oneOf": [{"type": "null"}, refer("Owner")]}),
        ("3.1.0", {"anyOf": [{"type": "string", "const": "me"}, {"type": "null"}]}),
        ("3.1.0", {"anyOf": [{"type": "object", "not": {"required": ["x"]}}, {"type": "null"}]}),
        ("3.0.3", {"nullable": True, "allOf": [refer("Owner")]}),
        ("3.0.3", OWNER | {"nullable": True}),
        ("3.0.3", refer("Owner") | {"nullable": True}),
        ("3.0.3", {"type": "string", "x-nullable": True}),
        ("3.0.3", {"type": "string", "nullable": True, "enum": ["a"]}),
    ],
)
def test_null_is_sent_where_it_is_allowed(version: str, owner: Any) -> None:
    schema = {"type": "object", "required": ["owner"], "properties": {"owner": owner}}

    assert send(describe_post(schema, version=version, Owner=OWNER), owner=None).json == {"owner": None}


@pytest.mark.parametrize(
    "identifier",
    [
        {"type": "string", "readOnly": True},
        refer("Id"),
        {"allOf": [refer("Id")]},
        {"allOf": [{"type": "string"}], "readOnly": True},
        {"anyOf": [refer("Id"), {"type": "null"}]},
    ],
)
def test_read_only_property_is_neither_sent_nor_required(identifier: Any) -> None:
    parts = {"Id": {"type": "string", "readOnly": True}, "Key": {"properties": {"id": identifier}, "required": ["id"]}}
    plate = {"type": "object", "required": ["id", "plate"], "properties": {"plate": TEXT}}
    flat = plate | {"properties": {"plate": TEXT, "id": identifier}}
    documents = [
        describe_post(flat, **parts),
        describe_post({"allOf": [refer("Key"), plate]}, **parts),
        describe_post({"allOf": [plate, {"properties": {"id": identifier}}]}, **parts),
    ]
    for document in documents:
        assert send(document, plate="AB 1").json == {"plate": "AB 1"}
        assert list(read_operation(document).mapped.schema["properties"]) == ["plate"]
    nested = describe_post({"properties": {"car": {"allOf": [refer("Key"), plate]}, "other": refer("Key")}}, **parts)
    assert send(nested, car={"plate": "AB 1"}, other={}).json == {"car": {"plate": "AB 1"}, "other": {}}


def test_all_parts_of_a_property_hold() -> None:
    sizes = {"type": "object", "properties": {"size": {"type": "string", "enum": ["S", "M"]}}}
    label = {"type": "object", "properties": {"size": {"description": "As printed."}}}
    for parts in ([sizes, label], [label, sizes], [sizes, label, {"properties": {"size": {"minLength": 1}}}]):
        document = describe_post({"allOf": parts})
        assert send(document, size="M").json == {"size": "M"}
        with pytest.raises(Refused):
            send(document, size="huge")
        argument = read_operation(document).mapped.schema["properties"]["size"]
        assert argument.items() >= {"type": "string", "description": "As printed."}.items()
    clash = describe_post({"allOf": [sizes, {"properties": {"size": {"enum": ["M", "L"]}}}]})
    with pytest.raises(Refused):
        send(clash, size="S")
    assert read_operation(clash).mapped.schema["properties"]["size"]["enum"] == ["M"]  # S and L are never accepted


@pytest.mark.parametrize(("first", "second"), [([1, 2], [True, 2]), ([1, 2], [2, 2.5]), ([None, "a", 2], [2, "b"])])
def test_choices_in_two_parts_are_those_that_both_have(first: list[Any], second: list[Any]) -> None:
    parts = [{"properties": {"size": {"enum": values}}} for values in (first, second)]

    assert read_operation(describe_post({"allOf": parts})).mapped.schema["properties"]["size"]["enum"] == [2]


def test_choices_of_two_parts_without_a_common_value_both_hold() -> None:
    parts = [{"properties": {"size": {"enum": values}}} for values in (["S"], ["M"])]
    for size in ("S", "M"):
        with pytest.raises(Refused):
            send(describe_post({"allOf": parts}), size=size)


def test_required_property_that_is_not_described_is_an_argument() -> None:
    document = describe_post({"type": "object", "required": ["option", "token"], "properties": {"option": TEXT}})

    assert send(document, option="a", token={"any": 1}).json == {"option": "a", "token": {"any": 1}}
    with pytest.raises(Refused, match="token"):
        send(document, option="a")
    closed = {"type": "object", "required": ["z"], "properties": {"a": TEXT}, "additionalProperties": False}
    assert send(describe_post({"properties": {"o": closed}}), o={"z": 2}).json == {"o": {"z": 2}}


# ----- forms, files, texts


def describe_form(schema: Any, **options: Any) -> Any:
    return describe_post(schema, "multipart/form-data", **options)


@pytest.mark.parametrize(
    "schema",
    [
        BINARY,
        refer("Photo"),
        {"allOf": [refer("Photo")]},
        {"anyOf": [BINARY, {"type": "null"}]},
        {"oneOf": [refer("Photo"), {"type": "null"}]},
        BINARY | {"nullable": True},
        {"type": "string", "contentMediaType": "application/octet-stream"},
        {"type": ["string", "null"], "format": "binary"},
    ],
)
@pytest.mark.parametrize("is_list", [False, True])
def test_file_is_a_part_with_its_name_and_content(schema: Any, is_list: bool) -> None:
    if is_list:
        schema = {"type": "array", "items": schema}
    document = describe_form(
        {"type": "object", "required": ["photo"], "properties": {"photo": schema}}, version="3.1.0", Photo=BINARY
    )

    body = send(document, photo=["f-1", "f-2"] if is_list else "f-1").body
    assert b'name="photo"; filename="a.png"\r\nContent-Type: image/png\r\n\r\nPNG' in body
    assert (b'name="photo"; filename="b.pdf"\r\nContent-Type: application/pdf\r\n\r\nPDF' in body) is is_list
    with pytest.raises(Refused):
        send(document, photo=["text"] if is_list else "text")
    assert "stored file" in read_operation(document).mapped.schema["properties"]["photo"]["description"]


def test_file_in_an_optional_form_is_a_file() -> None:
    properties = {"pdf": BINARY, "color": {"type": "boolean"}}
    plain = {"type": "object", "required": ["pdf"], "properties": properties}
    union = {"oneOf": [plain, {"type": "object", "properties": {"url": TEXT}}]}
    for schema in (plain, union):
        document = describe_form(schema, is_required=False)
        body = send(document, body={"pdf": "f-2", "color": True}).body
        assert b'name="pdf"; filename="b.pdf"\r\nContent-Type: application/pdf\r\n\r\nPDF' in body
        assert b'name="color"\r\n\r\ntrue' in body
        with pytest.raises(Refused):
            send(document, body={"pdf": "text"})


def test_parts_that_the_document_does_not_name_are_files_if_it_says_so() -> None:
    for properties in ({}, {"note": TEXT}):
        schema = {"type": "object", "properties": properties, "additionalProperties": BINARY}
        parts = {"cover": "f-1"}
        body = send(describe_form(schema), **(parts if properties else {"body": parts})).body
        assert b'name="cover"; filename="a.png"' in body


def test_encoding_says_which_part_is_a_file() -> None:
    encoding = {"icon": {"contentType": "image/png, image/jpeg"}, "data": {"contentType": "application/json"}}
    document = describe_form({"properties": {"icon": TEXT, "data": {"type": "object"}}}, encoding=encoding)

    body = send(document, icon="f-1", data={"a": 1}).body
    assert b'name="icon"; filename="a.png"' in body
    assert b'name="data"\r\nContent-Type: application/json\r\n\r\n{"a":1}' in body


@pytest.mark.parametrize(
    "media_type",
    [f"application/{name}" for name in ("yaml", "sql", "graphql", "x-ndjson", "javascript", "jwt", "vnd.x+yaml", "xml")]
    + ["text/plain", "text/csv; charset=utf-8", "application/octet-stream"],
)
def test_text_body_is_sent_as_it_is(media_type: str) -> None:
    document = describe_post({"type": "string", "minLength": 2}, media_type)

    sent = send(document, text="a: é")
    assert (sent.body, sent.headers["content-type"]) == ("a: é".encode(), media_type.partition(";")[0])
    with pytest.raises(Refused):
        send(document, text="a")


@pytest.mark.parametrize(
    ("media_type", "schema", "content_type"),
    [
        ("application/octet-stream", BINARY, "application/octet-stream"),
        ("application/octet-stream", {}, "application/octet-stream"),
        ("application/pdf", BINARY, "application/pdf"),
        ("image/png", TEXT, "image/png"),
        ("image/*", BINARY, "image/png"),
        ("*/*", BINARY, "image/png"),
    ],
)
def test_body_of_bytes_is_a_file(media_type: str, schema: Any, content_type: str) -> None:
    sent = send(describe_post(schema, media_type), file="f-1")

    assert (sent.body, sent.headers["content-type"]) == (b"PNG", content_type)


# ----- styles, paths, queries


@pytest.mark.parametrize(
    ("collection", "delimiter"), [("csv", "%2C"), ("ssv", "%20"), ("tsv", "%09"), ("pipes", "%7C"), ("multi", "&a=")]
)
def test_collection_format_is_kept_in_every_place(collection: str, delimiter: str) -> None:
    items = {"type": "array", "items": TEXT, "collectionFormat": collection}
    if delimiter == "%2C":
        delimiter = ","
    target = send(describe_get({"name": "a", "in": "query"} | items, version="2.0"), a=["x", "y"]).target
    assert target == f"GET /things?a=x{delimiter}y"
    form = describe_get({"name": "a", "in": "formData"} | items, version="2.0")
    form["paths"]["/things"]["post"] = form["paths"]["/things"].pop("get")
    assert send(form, a=["x", "y"]).body == f"a=x{delimiter}y".encode()
    if collection == "multi":
        return
    path = describe_get({"name": "a", "in": "path", "required": True} | items, path="/things/{a}", version="2.0")
    assert send(path, a=["x", "y"]).target == f"GET /things/x{delimiter}y"
    header = describe_get({"name": "X-A", "in": "header"} | items, version="2.0")
    plain = {"%20": " ", "%09": "\t", "%7C": "|"}.get(delimiter, ",")
    assert send(header, **{"X-A": ["x", "y"]}).headers["x-a"] == f"x{plain}y"


@pytest.mark.parametrize(
    ("path", "name", "value", "target"),
    [
        ("/files/{proxy+}", "proxy", "a/b c.txt", "/files/a/b%20c.txt"),
        ("/files/{path:path}", "path", "a/b", "/files/a/b"),
        ("/files/{path*}/raw", "path", "/a/b", "/files/a/b/raw"),
        ("/files/{+path}", "path", "a/b", "/files/a/b"),
        ("/files/{name}", "name", "a/b", "/files/a%2Fb"),
        ("/v1/{name=sites/*/pumps/*}", "name", "sites/1/pumps/2", "/v1/sites/1/pumps/2"),
        ("/v1/{name=sites/*}:stop", "name", "sites/1", "/v1/sites/1:stop"),
        ("/v1/{id:[0-9]{1,3}}", "id", "12", "/v1/12"),
        ("/v1/{id:int}/x", "id", "12", "/v1/12/x"),
        ("/caf\u00e9 s/{id}", "id", "1", "/caf%C3%A9%20s/1"),
        ("/find{?q}", "q", "a b", "/find?q=a%20b"),
        ("/find?kind=1&q={q}", "q", "a&b", "/find?kind=1&q=a%26b"),
    ],
)
@pytest.mark.parametrize("is_described", [True, False])
def test_path_is_filled_in_as_its_template_says(
    path: str, name: str, value: str, target: str, is_described: bool
) -> None:
    described = [{"name": name, "in": "path", "required": True, "schema": TEXT}] if is_described else []

    assert send(describe_get(*described, path=path), **{name: value}).target == f"GET {target}"


@pytest.mark.parametrize("value", ["../x", "a/../b", "a/%2e%2e/b", "..", "a/./b", "a\\..\\b"])
def test_greedy_value_never_goes_up(value: str) -> None:
    with pytest.raises(Refused):
        send(describe_get(path="/files/{a}{proxy+}"), a="x", proxy=value)
    with pytest.raises(Refused):
        send(describe_get(path="/files/{a}{proxy+}"), a=".", proxy="./x")


def test_value_of_a_pattern_is_checked() -> None:
    with pytest.raises(Refused):
        send(describe_get(path="/v1/{name=sites/*/pumps/*}"), name="sites/1/motors/2")


@pytest.mark.parametrize(
    "path", ["/search?facet=color&facet=size&title=Red%20shoes", "/search?a", "/search?a=b?c&d=%7B&e=%ff"]
)
def test_query_of_a_path_is_sent_as_it_is_written(path: str) -> None:
    assert send(describe_get(path=path)).target == f"GET {path}"
    assert send(describe_get(query(TEXT, "more"), path=path), more="1").target == f"GET {path}&more=1"


def test_whole_query_of_openapi_3_2_is_its_properties() -> None:
    schema = {"type": "object", "required": ["words"], "properties": {"words": TEXT, "n": {"type": "integer"}}}
    content = {"application/x-www-form-urlencoded": {"schema": schema}}
    document = describe_get(
        {"name": "selection", "in": "querystring", "required": True, "content": content}, version="3.2.0"
    )

    assert send(document, words="tea", n=2).target == "GET /things?words=tea&n=2"
    with pytest.raises(Refused):
        send(document)


# ----- what an answer may be


@pytest.mark.parametrize(
    ("answers", "accept"),
    [
        ([], "application/json"),
        (["application/json", "text/csv"], "application/json"),
        (["*/*"], "application/json"),
        (["text/csv"], "text/csv, */*;q=0.1"),
        (["text/csv; charset=utf-8", "application/pdf"], "text/csv, application/pdf, */*;q=0.1"),
        (["application/xml", "application/vnd.api+json"], "application/vnd.api+json, application/json;q=0.9"),
        (["text/html"], "text/html, */*;q=0.1"),
    ],
)
def test_accept_has_the_types_of_the_document(answers: list[str], accept: str) -> None:
    responses = {"200": {"description": "It", "content": {name: {} for name in answers}}}
    assert send(describe_get(responses=responses)).headers["accept"] == accept
    swagger = describe_get(produces=answers, version="2.0")
    assert send(swagger).headers["accept"] == accept
