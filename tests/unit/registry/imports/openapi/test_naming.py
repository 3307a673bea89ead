"""Paths of ops say resource and verb, and no two operations get the same."""

from registry.imports import op_paths
from registry.imports.openapi.naming import NamedRoute, choose_tool_name, parse_routes
from tests.support.loops import for_each


def name_all(*operations: str) -> list[str]:
    routes = [NamedRoute(each, *each.split(" ")) for each in operations]
    assigned = op_paths.assign_paths(parse_routes(routes), "x", op_paths.PathTree(set(), {"root"}), known_paths={})
    return [assigned[each] for each in operations]


@for_each(
    "operation, path",
    [
        ("GET /pets", "x.pet.list"),
        ("POST /pets", "x.pet.create"),
        ("GET /pets/{id}", "x.pet.get"),
        ("PATCH /pets/{id}", "x.pet.update"),
        ("DELETE /pets/{id}", "x.pet.delete"),
        ("DELETE /pets", "x.pet.delete_all"),
        ("POST /pets/{id}/archive", "x.pet.archive"),
        ("POST /pets/search", "x.pet.search"),
        ("GET /pets/{id}/toys", "x.pet.toy.list"),
        ("GET /a/{b}/c/{d}/e/{f}/gears", "x.c.e.gear.list"),
        ("GET /api/v1/pets", "x.pet.list"),
        ("GET /status", "x.status.get"),
        ("POST /pets:batchGet", "x.pet.batch_get"),
        ("GET /pets/{id}.json", "x.pet.get"),
        ("POST /reports", "x.report.create"),
    ],
)
def test_path_and_method_make_the_name(operation: str, path: str) -> None:
    assert name_all(operation) == [path]


@for_each(
    "operations, paths",
    [
        (("PUT /pets/{id}", "PATCH /pets/{id}"), ["x.pet.replace", "x.pet.update"]),
        (("GET /pets/{id}", "GET /pets/{name}/"), ["x.pet.get", "x.pet.get_by_name"]),
        (("GET /v1/pets", "GET /v2/pets"), ["x.pet.list", "x.pet.list_of_v2"]),
        (("GET /user/repos", "GET /users/{name}/repos"), ["x.user.repo.list", "x.user.repo.list_by_name"]),
        (("GET /acme/pets", "GET /acme/toys", "GET /acme/users"), ["x.pet.list", "x.toy.list", "x.user.list"]),
    ],
)
def test_operations_are_told_apart(operations: tuple[str, ...], paths: list[str]) -> None:
    assert name_all(*operations) == paths


def test_tool_name_is_the_operation_id_in_snake_case() -> None:
    assert choose_tool_name(NamedRoute("", "GET", "/pets/{id}", operation_id="pets/getById")) == "pets_get_by_id"
    assert choose_tool_name(NamedRoute("", "GET", "/pets/{id}")) == "get_pets_id"
