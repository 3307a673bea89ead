"""Publishing: the version identifies the content, and there is one live release."""

import hashlib
import threading

import pytest
from django.core.exceptions import ValidationError
from django.db import connection

from audit.models import AuditEntry
from core.text import json_text
from registry.catalog import cache
from registry.checks import single_op
from registry.models import Activation, Connection, Op, OpAlias, Release
from registry.releases import lifecycle, publishing, stored_releases
from registry.snapshot import snapshot
from tests.support.rows.copy_rows import AT, make_op
from tests.support.rows.op_entries import build_schema

pytestmark = pytest.mark.django_db


def publish(note: str = "Test") -> Release:
    return publishing.publish_draft(note=note, by="tests", at=AT)


def test_version_is_the_hash_of_the_canonical_content() -> None:
    make_op()

    release = publishing.publish_draft(note="Test", by="tests", at=AT, accepted="In case")

    assert release.version == hashlib.sha256(release.content.encode()).hexdigest()
    assert release.content == json_text.canonicalize(snapshot.snapshot_draft()).decode()
    assert release.version == publishing.compute_draft_version()
    assert (release.op_count, release.created_by, release.created_at) == (1, "tests", AT)
    assert (release.accepted_because, release.accepted_warnings) == ("", [])  # no warnings, so no reason


@pytest.mark.both_databases
def test_same_content_is_the_same_release() -> None:
    op = make_op()
    first = publish()
    Op.objects.filter(pk=op.pk).update(summary="Other")
    second = publish()
    Op.objects.filter(pk=op.pk).update(summary=op.summary)

    again = publish("Back")

    assert again == first != second
    assert Release.objects.count() == 2
    assert list(Activation.objects.values_list("release_id", "is_live", "note")) == [
        (first.version, True, "Back"),
        (second.version, False, "Test"),
        (first.version, False, "Test"),
    ]


def test_live_content_and_an_unknown_release_are_refused() -> None:
    make_op()
    release = publish()

    with pytest.raises(lifecycle.AlreadyLive):
        publish()
    with pytest.raises(lifecycle.AlreadyLive):
        lifecycle.activate_release(version=release.version, note="", by="tests", at=AT)
    with pytest.raises(stored_releases.UnknownRelease):
        lifecycle.activate_release(version="0" * 64, note="", by="tests", at=AT)

    assert Activation.objects.count() == 1


def test_publish_refuses_content_with_errors_and_ops_that_cannot_run() -> None:
    make_op("onto.task.good")
    live = publish()
    invalid = make_op(parameters_schema=build_schema(a={"$ref": "http://example.com"}))

    with pytest.raises(publishing.NotPublishable) as refused:
        publish()

    assert "parameters_schema" in [problem.field for problem in refused.value.problems]
    assert str(refused.value.problems[0]) in str(refused.value)
    invalid.delete()
    make_op("onto.task.lost", connection=None)
    with pytest.raises(publishing.NotPublishable, match="lost, connection: Cannot run: no connection"):
        publish()
    assert list(Release.objects.all()) == [live]
    assert stored_releases.get_live_release() == live
    Op.objects.filter(op="onto.task.lost").update(status="retired")
    assert publish() != live


def test_release_whose_ops_lost_their_connection_can_be_live_again() -> None:
    op = make_op()
    first = publish()
    Op.objects.filter(pk=op.pk).update(summary="Other")
    second = publish()
    Op.objects.filter(pk=op.pk).update(connection=None)
    op.connection.delete()

    lifecycle.activate_release(version=first.version, note="Back", by="tests", at=AT)

    assert stored_releases.get_live_release() == first
    assert stored_releases.get_previous_release() == second


def test_live_content_that_lost_its_connection_is_still_up_to_date() -> None:
    op = make_op()
    publish()
    Connection.objects.update(kind="gone")

    with pytest.raises(lifecycle.AlreadyLive):
        publish()
    Op.objects.filter(pk=op.pk).update(summary="Other")
    with pytest.raises(publishing.NotPublishable, match="is of an unsupported kind: gone"):
        publish()


UNCLEAR = build_schema(("title",), title={"type": "string"}, amount={"type": "number"})


def test_publish_refuses_new_warnings_without_a_reason() -> None:
    make_op("onto.task.good")
    live = publish()
    make_op(parameters_schema=UNCLEAR)

    for reason in ("", "  "):
        with pytest.raises(
            publishing.ReasonMissing, match="The copy does not give the unit or range of amount"
        ) as refused:
            publishing.publish_draft(note="Test", by="tests", at=AT, accepted=reason)

    assert [(warning.op, warning.rule) for warning in refused.value.warnings] == [
        ("onto.task.add", "number_without_unit")
    ]
    assert stored_releases.get_live_release() == live
    assert Release.objects.count() == 1


def test_release_stores_accepted_warnings_and_the_reason() -> None:
    make_op(parameters_schema=UNCLEAR)

    release = publishing.publish_draft(note="Test", by="tests", at=AT, accepted=" Says the upstream. ")

    assert release.accepted_because == "Says the upstream."
    assert [sorted(each) for each in release.accepted_warnings] == [
        ["field", "fix", "kind", "message", "op", "rule", "severity"]
    ]
    assert release.accepted_warnings[0]["field"] == "parameters_schema/properties/amount/description"
    assert "accepted" not in release.content


def test_warning_of_the_live_release_needs_no_new_reason_unless_it_is_worse_now() -> None:
    op = make_op(parameters_schema=UNCLEAR)
    publishing.publish_draft(note="Test", by="tests", at=AT, accepted="Known")
    Op.objects.filter(pk=op.pk).update(summary="Other")

    release = publish()

    assert (release.accepted_because, release.accepted_warnings) == ("", [])
    more = UNCLEAR["properties"] | {"delay": {"type": "integer"}}
    Op.objects.filter(pk=op.pk).update(parameters_schema=build_schema(("title",), **more))
    with pytest.raises(publishing.ReasonMissing) as refused:
        publish()
    assert [warning.message for warning in refused.value.warnings] == [
        "The copy does not give the unit or range of delay."
    ]


def test_unchanged_text_warns_when_the_op_it_names_was_removed() -> None:
    make_op("onto.task.find")
    OpAlias.objects.create(op=make_op("onto.task.add", description="Look with onto.task.find first."), name="onto.make")
    make_op("onto.task.note", description="Use onto.make before.")
    publish()
    Op.objects.get(op="onto.task.find").delete()
    OpAlias.objects.all().delete()

    with pytest.raises(publishing.ReasonMissing) as refused:
        publish()

    assert sorted((warning.op, warning.rule) for warning in refused.value.warnings) == [
        ("onto.task.add", "op_unknown"),
        ("onto.task.note", "op_unknown"),
    ]


def test_new_warnings_are_searched_only_in_changed_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    changed = make_op("onto.task.add")
    make_op("onto.task.find")
    publish()
    looked_at: list[str] = []
    check = single_op.check_summary
    monkeypatch.setattr(
        single_op, "check_summary", lambda op, context: looked_at.append(op["op"]) or check(op, context)
    )
    Op.objects.filter(pk=changed.pk).update(summary="Make one")

    publish()

    assert looked_at == ["onto.task.add"]


def test_accepted_release_can_be_published_again() -> None:
    op = make_op(parameters_schema=UNCLEAR)
    first = publishing.publish_draft(note="Test", by="tests", at=AT, accepted="Known")
    Op.objects.filter(pk=op.pk).update(parameters_schema=build_schema(("title",), title={"type": "string"}))
    publish()
    Op.objects.filter(pk=op.pk).update(parameters_schema=UNCLEAR)

    again = publish()

    assert again == first
    assert again.accepted_because == "Known"


@pytest.mark.both_databases
def test_previous_version_can_insert_a_release_without_reason() -> None:
    fields = "version, content, tokens, op_count, created_at, created_by"
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO registry_release ({fields}) VALUES (%s, %s, %s, %s, %s, %s)",  # noqa: S608
            ["v" * 64, "{}", "{}", 0, AT, "old process"],
        )

    assert list(Release.objects.values_list("accepted_because", "accepted_warnings")) == [("", [])]


def test_publish_accepts_a_draft_with_retired_ops() -> None:
    make_op()
    make_op("onto.task.old", status="retired", successor="onto.task.add")
    make_op("onto.task.gone", status="retired")

    release = publish()

    assert (release.op_count, set(release.tokens)) == (3, {"onto.task.add"})
    ops = cache.get_catalog(release.version).ops
    assert [ops[f"onto.task.{name}"].successor for name in ("old", "gone")] == ["onto.task.add", ""]


@pytest.mark.both_databases
def test_withdrawn_release_is_never_live_or_served_again() -> None:
    op = make_op()
    first = publish()
    assert cache.get_catalog(first.version)
    Op.objects.filter(pk=op.pk).update(summary="Other")
    publish()

    withdrawn = lifecycle.withdraw_release(version=first.version, reason="Sets the wrong priority", by="ann", at=AT)
    cache.drop_withdrawn()

    assert (withdrawn.withdrawn_by, withdrawn.withdrawn_at) == ("ann", AT)
    message = rf"{first} was withdrawn by ann: Sets the wrong priority"
    with pytest.raises(lifecycle.AlreadyWithdrawn, match=message):
        lifecycle.activate_release(version=first.version, note="", by="tests", at=AT)
    with pytest.raises(lifecycle.AlreadyWithdrawn, match=message):
        lifecycle.withdraw_release(version=first.version, reason="Again", by="bob", at=AT)
    with pytest.raises(cache.WithdrawnRelease):
        cache.get_catalog(first.version)
    Op.objects.filter(pk=op.pk).update(summary=op.summary)
    with pytest.raises(lifecycle.AlreadyWithdrawn, match=message):
        publish()  # the same content is the same release
    with pytest.raises(stored_releases.UnknownRelease, match="There is no earlier live release"):
        stored_releases.get_previous_release()
    entry = AuditEntry.objects.get(action="changed")
    assert (entry.kind, entry.name, entry.by) == ("release", first.version, "ann")
    assert entry.note == "Sets the wrong priority"


@pytest.mark.both_databases
def test_withdraw_refuses_live_or_unknown_releases_and_a_missing_reason() -> None:
    op = make_op()
    release = publish()
    with pytest.raises(lifecycle.ReleaseStillLive, match="Make another release live first"):
        lifecycle.withdraw_release(version=release.version, reason="Wrong", by="ann", at=AT)
    with pytest.raises(stored_releases.UnknownRelease):
        lifecycle.withdraw_release(version="0" * 64, reason="Wrong", by="ann", at=AT)
    Op.objects.filter(pk=op.pk).update(summary="Other")
    publish()
    with pytest.raises(ValidationError, match="Write a few words: why nobody"):
        lifecycle.withdraw_release(version=release.version, reason=" ", by="ann", at=AT)

    assert not Release.objects.filter(withdrawn_at__isnull=False).exists()


@pytest.mark.both_databases
def test_previous_release_is_the_last_one_that_is_not_live() -> None:
    op = make_op()
    releases = [publish()]
    for summary in ("Second", "Third"):
        Op.objects.filter(pk=op.pk).update(summary=summary)
        releases.append(publish())

    assert stored_releases.get_previous_release() == releases[1]
    lifecycle.withdraw_release(version=releases[1].version, reason="Wrong", by="ann", at=AT)
    assert stored_releases.get_previous_release() == releases[0]


def test_freeze_does_not_change_the_live_release() -> None:
    make_op()

    frozen = publishing.freeze_draft(by="tests", at=AT)

    assert stored_releases.get_live_release() is None
    assert publishing.freeze_draft(by="others", at=AT) == frozen
    assert Release.objects.get().created_by == "tests"


@pytest.mark.django_db(transaction=True)
def test_publish_takes_effect_in_this_process_at_once() -> None:
    op = make_op()
    publish()
    before = cache.get_live_catalog()
    Op.objects.filter(pk=op.pk).update(summary="Other")

    release = publish()

    assert cache.get_live_catalog().version == release.version != before.version
    assert cache.get_live_catalog().ops[op.op].summary == "Other"


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("live_before", [False, True])
def test_concurrent_publishers_leave_one_live_release(live_before: bool) -> None:
    op = make_op()
    if live_before:
        publish()
    versions = []
    for summary in ("One", "Other"):
        Op.objects.filter(pk=op.pk).update(summary=summary)
        versions.append(publishing.freeze_draft(by="tests", at=AT).version)
    gate, ended = threading.Barrier(2), []

    def activate(version: str) -> None:
        gate.wait(10)
        try:
            lifecycle.activate_release(version=version, note="Race", by="tests", at=AT)
            ended.append("live")
        except lifecycle.LiveChanged as error:  # the constraint reported that another one was first
            ended.append(type(error).__name__)
        finally:
            connection.close()

    threads = [threading.Thread(target=activate, args=[version]) for version in versions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)

    assert len(ended) == 2
    assert "live" in ended
    assert Activation.objects.filter(is_live=True).count() == 1
    assert Activation.objects.filter(note="Race").count() == ended.count("live")
    cache.refresh_live()
    assert cache.get_live_catalog().version == stored_releases.get_live_release().version in versions


@pytest.mark.both_databases
def test_releases_are_numbered_named_and_found_by_number() -> None:
    op = make_op()
    first = publish()
    Op.objects.filter(pk=op.pk).update(summary="Other")
    second = publish()
    lifecycle.name_release(second, name=" Clearer words ", labels=["quarter-4"], by="ana", at=AT)

    assert (first.short_name, second.short_name) == ("r1", "r2 Clearer words")
    assert stored_releases.find_release("r2") == second
    assert Release.objects.get(pk=second.pk).labels == ["quarter-4"]
    entry = AuditEntry.objects.filter(kind="release", name=second.version).latest("id")
    assert entry.changes == {"name": ["", "Clearer words"], "labels": [[], ["quarter-4"]]}
    for unknown in ("r", "r3", "r-1", "r9999999999", "r²"):
        with pytest.raises(stored_releases.UnknownRelease):
            stored_releases.find_release(unknown)
