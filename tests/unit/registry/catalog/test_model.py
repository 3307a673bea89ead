"""Catalogs in memory: swapped when another release goes live, kept when what is stored is not what was published."""

import json
import logging
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from django.conf import settings
from pytest_django import DjangoAssertNumQueries

from core import poller
from registry.catalog import connections, model
from registry.catalog.model import Visibility
from registry.help import help_pages
from registry.help.help_pages import HelpQuery
from registry.models import Activation, Connection, Op, Release
from registry.releases import publishing
from tests.support.copy_rows import make_op
from tests.support.op_entries import catalog, content, op

AT = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)


SEEN: list[tuple[str, str | None]] = []


def note_what_is_live(catalog: model.Catalog) -> None:
    SEEN.append((catalog.version, model.get_live_version()))


def publish(summary: str) -> Release:
    if not Op.objects.filter(op="onto.task.add").update(summary=summary):
        make_op("onto.task.add", summary=summary)
    return publishing.publish_draft(note="Test", by="tests", at=AT)


@pytest.mark.django_db
def test_live_says_what_to_do_where_nothing_is() -> None:
    with pytest.raises(model.NoLiveRelease, match=r"load_catalog --publish"):
        model.get_live_catalog()


@pytest.mark.django_db
def test_follow_swaps_in_the_live_release(caplog: pytest.LogCaptureFixture) -> None:
    publish("First")
    poller.refresh()
    first = model.get_live_catalog()

    second = publish("Second")
    assert model.get_live_catalog() is first  # until the follower looks
    with caplog.at_level(logging.INFO, "registry.catalog.model"):
        poller.refresh()

    assert model.get_live_catalog().version == second.version
    assert model.get_live_catalog().ops["onto.task.add"].summary == "Second"
    assert first.ops["onto.task.add"].summary == "First"
    assert f"release.live version={second.version[:12]}" in caplog.text


@pytest.mark.django_db
def test_follow_makes_a_catalog_ready_before_it_is_live(settings: Any) -> None:
    settings.GATEWAY_WARMS = [f"{__name__}.note_what_is_live"]
    first = publish("First")
    poller.refresh()
    second = publish("Second")
    poller.refresh()

    assert [(first.version, None), (second.version, first.version)] == SEEN


@pytest.mark.django_db
def test_follow_costs_one_query_when_nothing_changed(django_assert_num_queries: DjangoAssertNumQueries) -> None:
    publish("First")
    model.refresh_live()
    before = model.get_live_catalog()

    with django_assert_num_queries(1):
        model.refresh_live()

    assert model.get_live_catalog() is before


@pytest.mark.django_db
def test_follow_lets_go_where_nothing_is_live_any_more() -> None:
    publish("First")
    model.refresh_live()
    Activation.objects.update(is_live=False)

    model.refresh_live()

    with pytest.raises(model.NoLiveRelease):
        model.get_live_catalog()


@pytest.mark.django_db
def test_get_keeps_the_last_few_versions(
    django_assert_num_queries: DjangoAssertNumQueries, monkeypatch: pytest.MonkeyPatch
) -> None:
    versions = [publish(f"Summary {number}").version for number in range(settings.GATEWAY_RELEASES_KEPT + 1)]
    loaded = {version: model.get_catalog(version) for version in versions}

    with django_assert_num_queries(0):
        assert all(model.get_catalog(version) is loaded[version] for version in versions[1:])
    with django_assert_num_queries(1):
        assert model.get_catalog(versions[0]).version == versions[0]
    with django_assert_num_queries(1):
        model.get_catalog(versions[1])  # the one that was used longest ago made room


@pytest.mark.django_db
def test_get_raises_where_there_is_no_such_release() -> None:
    with pytest.raises(Release.DoesNotExist):
        model.get_catalog("0" * 64)


@pytest.mark.django_db
@pytest.mark.parametrize(
    "corrupt",
    [
        lambda content: content.replace("Second", "Secret"),
        lambda content: content[:-10],
        lambda content: json.dumps(json.loads(content), indent=1),
        lambda content: content + " ",
    ],
    ids=["edited", "cut", "reformatted", "spaced"],
)
def test_a_corrupt_release_is_refused_and_the_old_one_stays(
    corrupt: Callable[[str], str], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(poller, "close_old_connections", lambda: None)  # would lose the test's transaction
    first = publish("First")
    poller.refresh()
    second = publish("Second")
    Release.objects.filter(pk=second.pk).update(content=corrupt(second.content))

    with caplog.at_level(logging.WARNING, "core.poller"):
        poller.refresh()

    assert model.get_live_catalog().version == first.version
    assert f"Release {second.version[:12]} is not what was published. The previous live release stays." in caplog.text
    with pytest.raises(model.CorruptRelease):
        model.get_catalog(second.version)


@pytest.mark.django_db
def test_a_cached_answer_costs_no_query(
    live_catalog: object, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    queries = [HelpQuery(), HelpQuery(path="onto.task"), HelpQuery(path="onto.task.update", format="full")]
    first = [help_pages.answer_query(model.get_live_catalog(), query) for query in queries]

    with django_assert_num_queries(0):
        again = [help_pages.answer_query(model.get_live_catalog(), query) for query in queries]
        help_pages.answer_query(
            model.get_live_catalog(), HelpQuery(query="overdue tasks")
        )  # nor does one that is not cached

    assert all(one is other for one, other in zip(first, again, strict=True))


OPS = [
    op("onto.task.get"),
    op("onto.task.add", kind="write", aliases=["add"], tool_name="add_task"),
    op("onto.project.get"),
    op("util.info"),
    op("old.op", status="retired", successor="onto.task.get"),
]


@pytest.mark.parametrize(
    ("visibility", "ops", "root"),
    [
        (Visibility(), {"onto.task.get", "onto.task.add", "onto.project.get", "util.info"}, ("onto", "util")),
        (Visibility(patterns=("onto.*",)), {"onto.task.get", "onto.task.add", "onto.project.get"}, ("onto",)),
        (Visibility(patterns=("*.get",)), {"onto.task.get", "onto.project.get"}, ("onto",)),
        (Visibility(kinds=frozenset(["write"])), {"onto.task.add"}, ("onto",)),
        (Visibility(patterns=("util.*",), kinds=frozenset(["read"])), {"util.info"}, ("util",)),
        (Visibility(patterns=("ONTO.*",)), set(), ()),
        (Visibility(patterns=()), set(), ()),
    ],
)
def test_view_hides_by_pattern_and_kind(visibility: Visibility, ops: set[str], root: tuple[str, ...]) -> None:
    found = catalog(*OPS)

    view = found.view_for(visibility)

    assert view.ops == ops
    assert view.children["root"] == root
    assert view.counts["root"] == len(ops)
    assert found.view_for(visibility) is view


def test_view_lists_no_group_that_holds_nothing_visible() -> None:
    view = catalog(*OPS).view_for(Visibility(kinds=frozenset(["write"])))

    assert view.children == {"root": ("onto",), "onto": ("onto.task",), "onto.task": ("onto.task.add",)}
    assert view.counts == {"root": 1, "onto": 1, "onto.task": 1}


def test_views_are_kept_for_a_bounded_number_of_callers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "MAX_CACHED_VIEWS", 3)
    found = catalog(*OPS)

    for number in range(10):
        found.view_for(Visibility(patterns=(f"p{number}",)))

    assert len(found._views) <= 3


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("onto.task.add", "onto.task.add"),
        ("add_task", "onto.task.add"),
        ("add", "onto.task.add"),
        ("old.op", "old.op"),
        ("Add", None),
        (" add", None),
        ("onto.task", None),
        ("", None),
    ],
)
def test_find_matches_names_exactly(name: str, path: str | None) -> None:
    found = catalog(*OPS).find_op(name)

    assert (found.op if found else None) == path


GIVEN = [op("onto.task.get", aliases=["one"]), op("onto.task.add", upstream_name="add"), op("util.info")]
OTHERS = [
    pytest.param(op("onto.task.find"), id="new"),
    pytest.param(op("onto.task.get", summary="Another", tool_name="get_task", aliases=["a_task"]), id="in place"),
    pytest.param(op("onto.task.get", status="retired", successor="util.info"), id="retired"),
    pytest.param(op("onto.task.get", aliases=["util.info", "util_info"]), id="names of another"),
    pytest.param(op("onto.task.get", upstream_name="add"), id="upstream's name of another"),
]


@pytest.mark.parametrize("other", OTHERS)
def test_with_op_is_the_catalog_that_a_release_with_it_would_be(other: dict[str, Any]) -> None:
    rest = [each for each in GIVEN if each["op"] != other["op"]]

    found = catalog(*GIVEN).with_op(model.build_op(other), version="draft")

    released = catalog(*rest, other)
    assert found.ops == released.ops
    assert found.names == released.names
    assert found.groups == released.groups
    assert found.view_for(Visibility()) == released.view_for(Visibility())
    assert found.version == "draft"


def test_with_op_leaves_the_catalog_it_was_made_of_alone() -> None:
    live = catalog(*GIVEN)
    before = dict(live.ops), dict(live.names), live.view_for(Visibility())
    help_pages.answer_query(live, HelpQuery(path="onto.task.get"))

    found = live.with_op(model.build_op(op("onto.task.get", summary="Another")), version="draft")

    assert (live.ops, live.names, live.view_for(Visibility())) == before
    assert live.version == "v" * 64
    assert b"Another" in help_pages.answer_query(found, HelpQuery(path="onto.task.get")).body
    assert b"Another" not in help_pages.answer_query(live, HelpQuery(path="onto.task.get")).body


def test_with_op_keeps_the_prompts() -> None:
    section = {"prompt": "guide", "name": "one", "title": "One", "text": "Text", "position": 0, "status": "active"}
    live = model.build_catalog("v" * 64, content(*GIVEN) | {"sections": [section]})

    assert live.with_op(model.build_op(op("util.new")), version="draft").prompts == live.prompts != {}


def test_an_op_tells_what_it_is() -> None:
    found = catalog(*OPS).ops["onto.task.add"]

    assert (found.group, found.is_write, found.is_active) == ("onto", True, True)
    assert found.validator.is_valid({})
    assert not found.validator.is_valid({"unknown": 1})


@pytest.mark.django_db
def test_connections_are_followed_by_name(django_assert_num_queries: DjangoAssertNumQueries) -> None:
    Connection.objects.create(name="workspace")
    with django_assert_num_queries(1):
        connections.refresh_connections()

    with django_assert_num_queries(0):
        assert connections.get_kind("workspace") == "embedded"
        assert connections.get_kind("nowhere") is None


@pytest.mark.django_db
def test_what_is_live_stays_in_memory_however_many_others_are_asked_for() -> None:
    versions = [publish(f"Number {number}").version for number in range(settings.GATEWAY_RELEASES_KEPT + 2)]
    model.refresh_live()

    for version in versions[:-1]:
        model.get_catalog(version)

    assert model.get_catalog(versions[-1]) is model.get_live_catalog()
    assert sum(map(model.is_loaded, versions)) == settings.GATEWAY_RELEASES_KEPT
