"""What one operation becomes: arguments, the request, and what help says."""

from typing import Any

from tests.support.loops import for_each
from tests.support.upstreams.openapi_documents import build_body, map_operation

TEXT = {"type": "string"}


def query(name: str, schema: Any, **fields: Any) -> dict[str, Any]:
    return {"parameters": [{"name": name, "in": "query", "schema": schema} | fields]}


@for_each(
    "version, source, converted",
    [
        ("3.0.0", {"type": "string", "nullable": True}, {"type": ["string", "null"]}),
        (
            "3.0.0",
            {"type": "integer", "minimum": 1, "exclusiveMinimum": True},
            {"type": "integer", "exclusiveMinimum": 1},
        ),
        (
            "3.0.0",
            {"type": "string", "nullable": True, "enum": ["a"]},
            {"type": ["string", "null"], "enum": ["a", None]},
        ),
        ("3.1.0", {"type": ["string", "null"], "const": "a"}, {"type": ["string", "null"], "const": "a"}),
        ("3.1.0", {"oneOf": [TEXT, {"type": "integer"}]}, {"anyOf": [TEXT, {"type": "integer"}]}),
        ("3.1.0", {"type": "string", "pattern": "(?=a)b", "xml": {}, "x-a": 1, "title": "T"}, TEXT),
        (
            "3.1.0",
            {"anyOf": [{"enum": ["a"], "type": "string"}, {"type": "null"}]},
            {"enum": ["a", None], "type": ["string", "null"]},
        ),
        ("3.1.0", {"type": "text", "minLength": -1, "enum": []}, {}),
        ("3.1.0", {"type": "boolean", "default": "False"}, {"type": "boolean", "default": False}),
        ("3.1.0", {"type": ["integer", "null"], "default": "10"}, {"type": ["integer", "null"], "default": 10}),
        ("3.1.0", {"type": "integer", "default": "true"}, {"type": "integer"}),
        ("3.1.0", {"type": "number", "default": "none"}, {"type": "number"}),
        ("3.1.0", {"type": "string", "default": "10"}, {"type": "string", "default": "10"}),
        (
            "3.1.0",
            {"type": "string", "enum": ["a"], "default": ""},
            {"type": "string", "enum": ["a"]},
        ),
        ("3.1.0", {"type": "array", "items": True}, {"type": "array", "items": True}),
        ("3.1.0", {"$id": "https://a.b", "$anchor": "x", "type": "string"}, TEXT),
        ("3.1.0", {"type": "number", "maximum": 2**70}, {"type": "number", "maximum": float(2**70)}),
        (
            "3.1.0",
            {"type": "object", "properties": {"$ref": TEXT, "required": TEXT, "nullable": TEXT}},
            {"type": "object", "properties": {"$ref": TEXT, "required": TEXT, "nullable": TEXT}},
        ),
        (
            "3.1.0",
            {
                "type": "object",
                "required": ["id", "a"],
                "properties": {"id": {"type": "string", "readOnly": True}, "a": TEXT},
            },
            {"type": "object", "required": ["a"], "properties": {"a": TEXT}},
        ),
    ],
)
def test_schemas_become_2020_12(version: str, source: dict[str, Any], converted: dict[str, Any]) -> None:
    operation = map_operation(query("q", source), version=version)

    assert operation.mapped.schema["properties"]["q"] == converted


def test_named_schemas_are_defined_once_also_in_circles() -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#/components/schemas/Node"}}}
    operation = map_operation(
        query("node", {"$ref": "#/components/schemas/Node"}), components={"schemas": {"Node": node, "Other": TEXT}}
    )

    assert operation.mapped.schema["properties"]["node"] == {"$ref": "#/$defs/Node"}
    assert operation.mapped.schema["$defs"] == {
        "Node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}
    }


def test_null_beside_a_named_object_is_a_type_of_it() -> None:
    place = {"type": "object", "properties": {"city": TEXT}}
    nullable = {"anyOf": [{"$ref": "#/components/schemas/Place"}, {"type": "null"}], "description": "Where"}
    operation = map_operation(query("place", nullable), components={"schemas": {"Place": place}})

    assert operation.mapped.schema["properties"]["place"] == place | {
        "type": ["object", "null"],
        "description": "Where",
    }


def test_far_parts_of_a_large_schema_accept_anything_and_the_report_says_so() -> None:
    wide = {str(number): TEXT for number in range(300)}
    schemas = {
        "A": {"type": "object", "properties": wide | {"b": {"$ref": "#/components/schemas/B"}}},
        "B": {"type": "object", "properties": wide | {"c": {"$ref": "#/components/schemas/A"}}},
    }
    operation = map_operation(query("a", {"$ref": "#/components/schemas/A"}), components={"schemas": schemas})

    assert operation.mapped.schema["$defs"]["B"] == {"type": "object"}
    assert operation.mapped.remarks == ("Its args refer to large schemas, whose deepest parts accept any value.",)


def test_a_discriminator_tells_the_alternatives_apart() -> None:
    pet = {
        "oneOf": [{"$ref": "#/components/schemas/Cat"}, {"$ref": "#/components/schemas/Dog"}],
        "discriminator": {"propertyName": "kind", "mapping": {"cat": "#/components/schemas/Cat", "dog": "Dog"}},
    }
    operation = map_operation(
        build_body({"type": "object", "properties": {"pet": pet}}),
        components={"schemas": {"Cat": {"type": "object"}, "Dog": {"type": "object"}}},
    )

    assert operation.mapped.schema["properties"]["pet"]["anyOf"] == [
        {"$ref": "#/$defs/Cat", "properties": {"kind": {"const": "cat"}}, "required": ["kind"]},
        {"$ref": "#/$defs/Dog", "properties": {"kind": {"const": "dog"}}, "required": ["kind"]},
    ]


def test_names_that_meet_get_the_place_of_one() -> None:
    operation = map_operation(
        {
            "parameters": [
                {"name": "id", "in": "path", "required": True, "schema": TEXT},
                {"name": "filter[name]", "in": "query", "schema": TEXT},
            ],
            **build_body({"type": "object", "properties": {"id": TEXT}, "required": ["id"]}),
        },
        path="/pets/{id}",
    )

    assert operation.mapped.schema["required"] == ["id_path", "id"]
    assert operation.mapped.request["parameters"] == [
        {"name": "id", "in": "path", "argument": "id_path"},
        {"name": "filter[name]", "in": "query", "argument": "filter_name"},
    ]
    assert operation.mapped.request["body"]["properties"] == {"id": {}}


def test_names_in_other_scripts_are_written_in_latin_letters() -> None:
    names = ["имя", "возраст", "año[desde]", "<", "x y"]
    operation = map_operation({"parameters": [{"name": name, "in": "query", "schema": TEXT} for name in names]})

    assert list(operation.mapped.schema["properties"]) == ["imya", "vozrast", "ano_desde", "less_than_sign", "x_y"]
    assert [each["name"] for each in operation.mapped.request["parameters"]] == names


def test_styles_are_kept_where_they_are_not_the_default() -> None:
    operation = map_operation(query("at", {"type": "object"}, style="deepObject", explode=True, allowReserved=True))

    assert operation.mapped.request["parameters"] == [
        {"name": "at", "in": "query", "style": "deepObject", "explode": True, "allow_reserved": True}
    ]


def test_what_the_path_names_and_no_parameter_describes_is_an_argument() -> None:
    operation = map_operation({}, path="/pets/{pet}/v{version}.json?kind=cat#two", method="get")

    assert operation.mapped.schema["required"] == ["pet", "version"]
    assert operation.mapped.request["path"] == "/pets/{pet}/v{version}.json"
    assert operation.mapped.request["query_string"] == "kind=cat"


@for_each(
    "operation, body, arguments",
    [
        (build_body(TEXT, "text/plain"), {"content_type": "text/plain", "argument": "text"}, ["text"]),
        (build_body({}, "application/pdf"), {"content_type": "application/pdf", "argument": "file"}, ["file"]),
        (build_body({"type": "array"}), {"content_type": "application/json", "argument": "body"}, ["body"]),
        (  # JSON is preferred among several types
            {"requestBody": {"content": {"multipart/form-data": {}, "application/hal+json": {}}}},
            {"content_type": "application/hal+json", "argument": "body"},
            ["body"],
        ),
        (
            build_body({"allOf": [{"properties": {"a": TEXT}}, {"type": "object", "properties": {"b": TEXT}}]}),
            {"content_type": "application/json", "properties": {"a": {}, "b": {}}},
            ["a", "b"],
        ),
        (
            build_body({"properties": {"a": TEXT}, "anyOf": [{"required": ["a"]}]}),
            {"content_type": "application/json", "argument": "body"},
            ["body"],
        ),
        (
            {
                "requestBody": build_body({"properties": {"a": TEXT}, "required": ["a"]})["requestBody"]
                | {"required": False}
            },
            {"content_type": "application/json", "argument": "body"},
            ["body"],
        ),
        (
            build_body({"properties": {"photo": {"type": "string", "format": "binary"}}}, "multipart/form-data"),
            {"content_type": "multipart/form-data", "properties": {"photo": {"is_file": True}}},
            ["photo"],
        ),
        (
            build_body(
                {"properties": {"a": {"type": "array"}}},
                "application/x-www-form-urlencoded",
                encoding={"a": {"style": "pipeDelimited", "explode": False}},
            ),
            {
                "content_type": "application/x-www-form-urlencoded",
                "properties": {"a": {"style": "pipeDelimited", "explode": False}},
            },
            ["a"],
        ),
    ],
)
def test_bodies_become_arguments(operation: dict[str, Any], body: dict[str, Any], arguments: list[str]) -> None:
    mapped = map_operation(operation).mapped

    assert mapped.request["body"] == body
    assert list(mapped.schema["properties"]) == arguments


def test_a_default_of_a_body_is_told_and_not_sent() -> None:
    schema = {"type": "object", "properties": {"size": {"type": "integer", "default": 3, "description": "In cm"}}}

    assert map_operation(build_body(schema)).mapped.schema["properties"]["size"] == {
        "type": "integer",
        "description": "In cm. Default: 3.",
    }


def test_examples_of_the_document_become_examples_if_they_are_valid() -> None:
    schema = {"type": "object", "properties": {"name": TEXT, "size": {"type": "integer"}}, "required": ["name"]}

    mapped = map_operation(
        build_body(schema, examples={"good": {"value": {"name": "Rex"}}, "bad": {"value": {"size": "big"}}})
    ).mapped

    assert mapped.examples == ({"name": "Rex"},)


def test_notes_say_how_to_get_the_next_page_and_what_is_answered() -> None:
    responses = {
        "200": {
            "description": "A page of pets, newest first.",
            "content": {"application/json": {"schema": {"type": "object", "properties": {"pets": {}, "total": {}}}}},
        }
    }
    parameters = query("cursor", TEXT)["parameters"] + query("limit", {"type": "integer"})["parameters"]

    mapped = map_operation({"parameters": parameters, "responses": responses, "deprecated": True}, method="get").mapped

    assert mapped.notes == (
        "Deprecated by the service; prefer another op. Answers in pages: send cursor and limit for the next ones. "
        "A page of pets, newest first. Answers pets, total."
    )
