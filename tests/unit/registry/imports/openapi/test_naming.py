"""Paths of ops say resource and verb, and no two operations get the same."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.imports import op_paths
from registry.imports.openapi.naming import NamedRoute, choose_tool_name, parse_routes
from registry.models import path_validator
from tests.support.growth import assert_linear
from tests.support.loops import for_each


def assign(routes: list[NamedRoute]) -> dict[str, str]:
    return op_paths.assign_paths(parse_routes(routes), "x", op_paths.PathTree(set(), {"root"}), known_paths={})


def name_all(*operations: str) -> list[str]:
    assigned = assign([NamedRoute(each, *each.split(" ")) for each in operations])
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
        ("GET /stats", "x.stats.get"),
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
        (("GET /v1/pets", "GET /v2/pets"), ["x.pet.list", "x.pet.list_v2"]),
        (("GET /user/repos", "GET /users/{name}/repos"), ["x.user.repo.list", "x.user.repo.list_by_name"]),
        (("GET /acme/pets", "GET /acme/toys", "GET /acme/users"), ["x.pet.list", "x.toy.list", "x.user.list"]),
    ],
)
def test_operations_are_told_apart(operations: tuple[str, ...], paths: list[str]) -> None:
    assert name_all(*operations) == paths


@for_each(
    "route, path",
    [
        # The path is the name of a function.
        ("POST /chat.postMessage chat_postMessage", "x.chat.post_message"),
        ("GET /channels.list channels_list", "x.channel.list"),
        ("POST /rpc/add_song_to_queue add_song_to_queue", "x.song.add_to_queue"),
        ("POST /music/add_song_to_queue add_song_to_queue", "x.music.add_song_to_queue"),
        ("GET /cache/purge purgeCache", "x.cache.purge"),
        ("POST /users DeleteUser", "x.user.delete"),
        ("POST /programs getPrograms", "x.program.list"),
        ("POST /add_song_to_queue", "x.song.add_to_queue"),
        ("POST /unmark_song unmark_song Unmark a song", "x.song.unmark"),
        ("GET /users_list users_list", "x.user.list"),
        ("GET /users/getUser", "x.user.get"),
        ("GET /users/getUsers", "x.user.list"),
        ("POST /institutions/get_by_id", "x.institution.get_by_id"),
        ("POST /tasks/batch-upsert", "x.task.batch_upsert"),
        ("GET /rest?method=flickr.photos.getInfo", "x.flickr.photo.get_info"),
        ("PUT /files/{id}#add_shared_link", "x.file.add_shared_link"),
        # A word that can be a verb, and is none here.
        ("POST /deploy_keys createDeployKey", "x.deploy_key.create"),
        ("POST /deploy_keys - Add a deploy key", "x.deploy_key.create"),
        ("PUT /issues/{id} issueEdit Edit an issue", "x.issue.update"),
        ("GET /stopPoint StopPoint_Get", "x.stop_point.get"),
        ("GET /price_list", "x.price_list.get"),
        # What the path ends in.
        ("GET /users.json listUsers", "x.user.list"),
        ("POST /statuses/update.json updateStatus", "x.status.update"),
        ("GET /reviews.{format}", "x.review.list"),
        ("GET /profiles{extension}", "x.profile.list"),
        ("GET /users/:id", "x.user.get"),
        ("GET /leases/id/{id}", "x.lease.get"),
        # The operationId or the summary says more than the method.
        ("GET /stats getStats", "x.stats.get"),
        ("GET /issueType getIssueTypes", "x.issue_type.list"),
        ("GET /snippets/{workspace} - List snippets in a workspace", "x.snippet.list"),
        ("PUT /receipts createReceipts", "x.receipt.create"),
        ("PUT /me/episodes save-episodes", "x.me.episode.save"),
        ("POST /results/{id} - Verify a result", "x.result.verify"),
        ("DELETE /files/trash drive.files.emptyTrash", "x.file.trash.empty"),
        ("DELETE /me/shows remove-shows-user", "x.me.show.remove"),
        ("DELETE /todos/{id} - Mark a todo as done", "x.todo.delete"),
        ("POST /payments/{id}/captures - Capture a payment", "x.payment.capture"),
        ("PUT /secrets/{name} secrets/create-or-update-secret", "x.secret.update"),
        ("POST /pets postPets", "x.pet.create"),
        # Words of the path.
        ("GET /workspaces/{id}/workspace_members", "x.workspace.member.list"),
        ("GET /users/me/settings", "x.me.settings.get"),
        ("GET /apis/storage.k8s.io/v1/csinodes", "x.storage.csinode.list"),
        ("GET /c2c/v4/health", "x.c2c.health.get"),
        ("GET /movies/{id}", "x.movie.get"),
        ("GET /клиенты", "x.klienty.get"),
        ("GET /订单", "x.ding_dan.get"),
    ],
)
def test_name_is_one_that_people_would_choose(route: str, path: str) -> None:
    method, url, operation_id, summary = [*route.split(" ", 3), "", ""][:4]
    routes = [NamedRoute(route, method, url, operation_id.strip("-"), summary=summary, is_write=method != "GET")]

    assert list(assign(routes).values()) == [path]


@for_each(
    "operations, paths",
    [
        (  # the account that all but one are in
            (
                "GET /accounts/{a}/calls",
                "GET /accounts/{a}/faxes",
                "GET /accounts/{a}/rooms/{id}",
                "GET /accounts/{a}/x",
            ),
            ["x.call.list", "x.fax.list", "x.room.get", "x.x.get"],
        ),
        (
            ("POST /sendMessage", "POST /promoteMember", "POST /setTitle"),
            ["x.message.send", "x.member.promote", "x.title.set"],
        ),
        (
            ("GET /issues", "POST /issues/import", "GET /issues/import", "GET /issues/import/{id}/log"),
            ["x.issue.list", "x.issue.import.create", "x.issue.import.get", "x.issue.import.log.get"],
        ),
        (("GET /orders/search", "POST /orders/search"), ["x.order.search", "x.order.search_post"]),
        (("GET /a/style.xml", "GET /a/style"), ["x.a.style.get_xml", "x.a.style.get"]),
        (("GET /documents/1", "GET /documents"), ["x.document.get", "x.document.list"]),
    ],
)
def test_names_in_one_document(operations: tuple[str, ...], paths: list[str]) -> None:
    assert name_all(*operations) == paths


WORDS = st.sampled_from(
    "users user getUser list search users_list import {id} {name} v2 x.json a.b.getAll 订单 1 :id me all".split()
)
ROUTES = st.lists(
    st.builds(
        lambda method, parts, id, summary: NamedRoute(
            f"{method} /{'/'.join(parts)}", method, f"/{'/'.join(parts)}", id, summary=summary
        ),
        st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"]),
        st.lists(WORDS | st.text(max_size=8), max_size=5),
        st.sampled_from(["", "getUsers", "users_list", "createOrUpdate", "a/b-c.d", "импорт"]) | st.text(max_size=8),
        st.sampled_from(["", "List all users", "Import it"]) | st.text(max_size=8),
    ),
    unique_by=lambda route: route.name,
    max_size=12,
)


@given(ROUTES, st.randoms())
def test_any_paths_get_valid_names_that_do_not_depend_on_their_order(routes: list[NamedRoute], random: Random) -> None:
    assigned = assign(routes)

    assert assigned.keys() == {route.name for route in routes}
    assert len(set(assigned.values())) == len(routes)
    groups = {path.rpartition(".")[0] for path in assigned.values()}
    assert not groups & set(assigned.values())
    for path in assigned.values():
        path_validator(path)
    shuffled = random.sample(routes, len(routes))
    assert assign(shuffled) == assigned


@pytest.mark.parametrize("form", ["/r{}/a/b/c/pets", "/pets/{{id{}}}", "/x{}", "/pets/{}"])
def test_names_take_linear_time_also_if_all_are_alike(form: str) -> None:
    def build(size: int) -> list[NamedRoute]:
        return [NamedRoute(str(at), "GET", form.format(at), f"getPets{at}") for at in range(size)]

    assert_linear(parse_routes, build, size=1_000)


def test_tool_name_is_the_operation_id_in_snake_case() -> None:
    assert choose_tool_name(NamedRoute("", "GET", "/pets/{id}", operation_id="pets/getById")) == "pets_get_by_id"
    assert choose_tool_name(NamedRoute("", "GET", "/pets/{id}")) == "get_pets_id"
