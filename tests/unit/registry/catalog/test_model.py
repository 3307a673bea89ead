"""Catalogs in memory: replaced when another release goes live, kept when the stored release is corrupt."""

import copy
import json
import logging
from typing import Any

import pytest
from django.conf import settings
from pytest_django import DjangoAssertNumQueries

from core.background import poller
from registry import search
from registry.catalog import builder, cache, connections, model
from registry.catalog.connections import ConnectionConfig, Connections
from registry.catalog.model import FULL_VISIBILITY, Visibility
from registry.catalog.switches import ALL_ON
from registry.help import help_pages
from registry.help.answers import UnknownPath
from registry.help.help_pages import HelpQuery
from registry.models import Activation, Connection, Op, Release
from registry.releases import publishing
from tests.support.rows.copy_rows import AT, make_op
from tests.support.rows.op_entries import build_catalog, build_content, build_op_entry, build_schema
from tests.support.upstreams import any_upstream


def publish(summary: str) -> Release:
    if not Op.objects.filter(op="onto.task.add").update(summary=summary):
        make_op("onto.task.add", summary=summary)
    return publishing.publish_draft(note="Test", by="tests", at=AT)


@pytest.mark.django_db
def test_live_catalog_error_says_what_to_do_when_nothing_is_live() -> None:
    with pytest.raises(cache.NoLiveRelease, match=r"load_catalog --publish"):
        cache.get_live_catalog()


@pytest.mark.django_db
def test_follow_swaps_in_the_live_release(caplog: pytest.LogCaptureFixture) -> None:
    publish("First")
    poller.refresh()
    first = cache.get_live_catalog()

    second = publish("Second")
    assert cache.get_live_catalog() is first  # until the poller runs
    with caplog.at_level(logging.INFO, "registry.catalog.cache"):
        poller.refresh()

    assert cache.get_live_catalog().version == second.version
    assert cache.get_live_catalog().ops["onto.task.add"].summary == "Second"
    assert first.ops["onto.task.add"].summary == "First"
    assert f"release.live version={second.version[:12]}" in caplog.text


@pytest.mark.django_db
def test_follow_warms_a_catalog_before_it_is_live(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str, str | None]] = []
    monkeypatch.setattr(cache, "_warmers", [lambda each: seen.append((each.version, cache.get_live_version()))])
    first = publish("First")
    poller.refresh()
    second = publish("Second")
    poller.refresh()

    assert [(first.version, None), (second.version, first.version)] == seen


@pytest.mark.django_db
def test_follow_costs_one_query_and_drops_the_catalog_when_nothing_is_live(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    publish("First")
    cache.refresh_live()
    before = cache.get_live_catalog()

    with django_assert_num_queries(1):
        cache.refresh_live()
    assert cache.get_live_catalog() is before

    Activation.objects.update(is_live=False)
    cache.refresh_live()
    with pytest.raises(cache.NoLiveRelease):
        cache.get_live_catalog()


@pytest.mark.django_db
def test_get_keeps_the_last_few_versions(
    django_assert_num_queries: DjangoAssertNumQueries, monkeypatch: pytest.MonkeyPatch
) -> None:
    versions = [publish(f"Summary {number}").version for number in range(settings.GATEWAY_RELEASES_KEPT + 1)]
    loaded = {version: cache.get_catalog(version) for version in versions}

    with django_assert_num_queries(0):
        assert all(cache.get_catalog(version) is loaded[version] for version in versions[1:])
    with django_assert_num_queries(1):
        assert cache.get_catalog(versions[0]).version == versions[0]
    with django_assert_num_queries(1):
        cache.get_catalog(versions[1])  # the least recently used one was dropped
    with pytest.raises(Release.DoesNotExist):
        cache.get_catalog("0" * 64)


@pytest.mark.django_db
def test_corrupt_release_is_refused_and_the_old_one_stays(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(poller, "close_old_connections", lambda: None)  # it would end the test's transaction
    first = publish("First")
    poller.refresh()
    second = publish("Second")
    Release.objects.filter(pk=second.pk).update(content=second.content + " ")

    with caplog.at_level(logging.WARNING, "core.background.poller"):
        poller.refresh()

    assert cache.get_live_catalog().version == first.version
    assert f"Release {second.version[:12]} is not what was published. The previous live release stays." in caplog.text
    with pytest.raises(cache.CorruptRelease):
        cache.get_catalog(second.version)


OPS = [
    build_op_entry("onto.task.get"),
    build_op_entry("onto.task.add", kind="write", aliases=["add"], tool_name="add_task"),
    build_op_entry("onto.project.get"),
    build_op_entry("util.info"),
    build_op_entry("old.op", status="retired", successor="onto.task.get"),
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
    catalog = build_catalog(*OPS)

    view = catalog.view_for(visibility)

    assert view.ops == ops
    assert view.children["root"] == root
    assert view.counts["root"] == len(ops)
    assert catalog.view_for(visibility) is view


def test_view_cache_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "MAX_CACHED_VIEWS", 3)
    catalog = build_catalog(*OPS)

    for number in range(10):
        catalog.view_for(Visibility(patterns=(f"p{number}",)))

    assert len(catalog._views) <= 3


def test_find_matches_names_exactly() -> None:
    catalog = build_catalog(*OPS)

    for name in ("onto.task.add", "add_task", "add"):
        assert catalog.find_op(name) is catalog.ops["onto.task.add"]
    assert catalog.find_op("old.op") is catalog.ops["old.op"]
    assert catalog.find_op("Add") is catalog.find_op("") is None


GIVEN = [
    build_op_entry("onto.task.get", aliases=["one"]),
    build_op_entry("onto.task.add", upstream_name="add"),
    build_op_entry("util.info"),
]
OTHERS = [
    pytest.param(build_op_entry("onto.task.find"), id="new"),
    pytest.param(
        build_op_entry("onto.task.get", summary="Another", tool_name="get_task", aliases=["a_task"]), id="in place"
    ),
    pytest.param(build_op_entry("onto.task.get", status="retired", successor="util.info"), id="retired"),
    pytest.param(build_op_entry("onto.task.get", aliases=["util.info", "util_info"]), id="names of another"),
    pytest.param(build_op_entry("onto.task.get", upstream_name="add"), id="upstream's name of another"),
]


@pytest.mark.parametrize("other", OTHERS)
def test_with_op_equals_the_catalog_of_a_release_with_the_op(other: dict[str, Any]) -> None:
    rest = [each for each in GIVEN if each["op"] != other["op"]]

    draft = build_catalog(*GIVEN).with_op(builder.build_op(other), version="draft")

    released = build_catalog(*rest, other)
    assert draft.ops == released.ops
    assert draft.names == released.names
    assert draft.groups == released.groups
    assert draft.view_for(Visibility()) == released.view_for(Visibility())
    assert draft.version == "draft"


def test_with_op_does_not_change_the_original_catalog() -> None:
    live = build_catalog(*GIVEN)
    before = dict(live.ops), dict(live.names), live.view_for(Visibility())
    help_pages.answer_query(live, HelpQuery(path="onto.task.get"))

    draft = live.with_op(builder.build_op(build_op_entry("onto.task.get", summary="Another")), version="draft")

    assert (live.ops, live.names, live.view_for(Visibility())) == before
    assert live.version == "v" * 64
    assert b"Another" in help_pages.answer_query(draft, HelpQuery(path="onto.task.get")).body
    assert b"Another" not in help_pages.answer_query(live, HelpQuery(path="onto.task.get")).body


def test_with_op_keeps_the_prompts() -> None:
    section = {"prompt": "guide", "name": "one", "title": "One", "text": "Text", "position": 0, "status": "active"}
    live = builder.build_catalog("v" * 64, build_content(*GIVEN) | {"sections": [section]})

    assert live.with_op(builder.build_op(build_op_entry("util.new")), version="draft").prompts == live.prompts != {}


def test_view_leaves_out_ops_that_cannot_run_and_says_why() -> None:
    connected, unknown = {"connection": any_upstream.CONNECTION}, {"connection": "nowhere"}
    catalog = build_catalog(
        build_op_entry("a.runs", **connected), build_op_entry("a.lost", **unknown), build_op_entry("b.lost")
    )
    current = Connections({any_upstream.CONNECTION: ConnectionConfig(any_upstream.CONNECTION, "embedded")})

    view = catalog.view_for(FULL_VISIBILITY.limit_to_available(ALL_ON, current))

    assert view.ops == {"a.runs"}
    assert view.children["root"] == ("a",)
    assert view.off_reasons == {
        "a.lost": 'a.lost cannot run: the connection "nowhere" does not exist.',
        "b.lost": "b.lost cannot run: no connection is set.",
        "b": "Every op of b is off or cannot run.",
    }
    assert search.find_ops(catalog, view, "lost", limit=5) == []
    with pytest.raises(UnknownPath, match=r"b\.lost cannot run: no connection is set\."):
        help_pages.resolve_path(catalog, view, "b_lost")


@pytest.mark.django_db
def test_view_follows_the_connections() -> None:
    catalog = build_catalog(build_op_entry("a.b", connection=any_upstream.CONNECTION))

    def find_ops() -> frozenset[str]:
        return catalog.view_for(FULL_VISIBILITY.limit_to_available(ALL_ON, connections.get_connections())).ops

    assert find_ops() == set()
    any_upstream.get_or_create_connection()
    current = connections.refresh_connections()
    assert find_ops() == {"a.b"}
    assert connections.refresh_connections() is current
    Connection.objects.all().delete()
    connections.refresh_connections()
    assert find_ops() == set()


@pytest.mark.django_db
def test_live_catalog_stays_in_memory_when_many_others_are_loaded() -> None:
    versions = [publish(f"Number {number}").version for number in range(settings.GATEWAY_RELEASES_KEPT + 2)]
    cache.refresh_live()

    for version in versions[:-1]:
        cache.get_catalog(version)

    assert cache.get_catalog(versions[-1]) is cache.get_live_catalog()
    assert sum(map(cache.is_loaded, versions)) == settings.GATEWAY_RELEASES_KEPT


def test_release_takes_ops_from_a_similar_one_only_if_their_entries_are_the_same_text() -> None:
    same, number = build_op_entry("onto.task.list"), build_op_entry("onto.task.get")
    number["parameters_schema"]["properties"]["limit"] = {"type": "number", "default": 1}
    earlier = builder.build_catalog("a" * 64, copy.deepcopy(build_content(same, number)))
    number["parameters_schema"]["properties"]["limit"]["default"] = 1.0

    later = builder.build_catalog("b" * 64, build_content(same, number), similar=earlier)

    assert later.ops["onto.task.list"] is earlier.ops["onto.task.list"]
    assert json.dumps(later.ops["onto.task.get"].schema["properties"]["limit"]["default"]) == "1.0"


def test_release_with_other_words_takes_no_ops_from_a_similar_one() -> None:
    words = {"kind": "value", "meaning": "done", "words": ["closed"], "argument": "state", "ops": ""}
    state = {"type": "string", "enum": ["open", "done"]}
    content = build_content(build_op_entry("onto.task.list", parameters_schema=build_schema(state=state)))
    earlier = builder.build_catalog("a" * 64, content)

    later = builder.build_catalog("b" * 64, content | {"vocabulary": [words]}, similar=earlier)

    assert later.ops["onto.task.list"].schema != earlier.ops["onto.task.list"].schema
