"""A mapping says how args become a request; what could not be sent is refused in words."""

from typing import Any

import pytest

from registry.request_mapping import Body, BodyProperty, Parameter, find_problems, list_arguments, parse_mapping
from tests.support.loops import for_each

PET_ID = {"name": "petId", "in": "path", "argument": "pet_id"}
GET = {"method": "GET", "path": "/pets/{petId}", "parameters": [PET_ID]}


def test_left_out_values_get_the_defaults_of_openapi() -> None:
    mapping = parse_mapping(
        {
            "method": "POST",
            "path": "/pets/{id}",
            "parameters": [
                {"name": "id", "in": "path"},
                {"name": "tags", "in": "query", "style": "pipeDelimited"},
                {"name": "X-Trace", "in": "header", "argument": "trace"},
                {"name": "sort", "in": "query"},
            ],
            "body": {"content_type": "application/json", "properties": {"pet_name": {"name": "name"}}},
        }
    )

    assert mapping.parameters == (
        Parameter("id", "id", "path", "simple", explode=False),
        Parameter("tags", "tags", "query", "pipeDelimited", explode=False),
        Parameter("trace", "X-Trace", "header", "simple", explode=False),
        Parameter("sort", "sort", "query", "form", explode=True),
    )
    assert mapping.body == Body("application/json", properties=(BodyProperty("pet_name", "name"),))
    assert mapping.accept == "application/json"
    assert list_arguments(mapping) == ["id", "tags", "trace", "sort", "pet_name"]
    assert find_problems(GET, ["pet_id"]) == []


@for_each(
    "changes, problem",
    [
        ({"method": "TRACE"}, "method: "),
        ({"path": "pets"}, "path: "),
        ({"path": "/pets"}, "The path has no {petId}. Add it, or remove the parameter."),
        ({"path": "/pets/{petId}/{x}"}, "The path has {x}, but no parameter with this name."),
        ({"path": "/../{petId}"}, "The path has a segment of one or two dots."),
        ({"path": "/%252e./{petId}"}, "The path has a segment of one or two dots."),
        ({"path": "/a\\\\..\\\\{petId}"}, "The path has a segment of one or two dots."),
        ({"parameters": [{**PET_ID, "style": "form"}]}, "petId cannot have the style form."),
        ({"headers": {"Authorization": "x"}}, "An op cannot set the header Authorization."),
        ({"parameters": [PET_ID, {"name": "Host", "in": "header"}]}, "An argument cannot set the header Host."),
        (
            {"method": "HEAD", "body": {"content_type": "text/plain", "argument": "pet_id"}},
            "A HEAD request has no body.",
        ),
        ({"body": {"content_type": "text/plain", "argument": "text"}}, "text is not an argument of the op."),
        (
            {"parameters": [{"name": "petId", "in": "path", "argument": "other"}]},
            "The argument pet_id is sent nowhere.",
        ),
    ],
)
def test_what_cannot_be_sent_is_a_problem(changes: dict[str, Any], problem: str) -> None:
    assert any(each.startswith(problem) for each in find_problems(GET | changes, ["pet_id"]))


@pytest.mark.parametrize("value", [None, [], "GET /", {}, {"method": "GET", "path": "/", "extra": 1}])
def test_what_is_no_mapping_is_a_problem(value: Any) -> None:
    assert find_problems(value, [])
