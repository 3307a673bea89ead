"""Switching needs a reason, an author and an existing target; each target has one switch."""

from typing import Any

import pytest
from django.core.exceptions import ValidationError

from audit.models import AuditEntry
from registry.catalog import switches
from registry.drafts import switch_service
from registry.models import Op, Switch
from registry.releases import publishing
from tests.support.loops import for_each
from tests.support.rows.copy_rows import AT, make_op
from tests.support.rows.switches import create_switch
from tests.support.upstreams import any_upstream

pytestmark = [pytest.mark.both_databases, pytest.mark.django_db]

OFF = {"kind": "op", "name": "onto.task.add", "reason": "Broken upstream", "by": "ann", "at": AT}


@pytest.mark.parametrize(
    ("kind", "name"),
    [("op", "onto.task.add"), ("group", "onto.task"), ("group", "root"), ("connection", any_upstream.CONNECTION)],
)
def test_switch_turns_off_and_on(kind: str, name: str) -> None:
    make_op()

    off = switch_service.switch_off(**OFF | {"kind": kind, "name": name})
    assert (off.is_off, off.reason, off.changed_by, off.changed_at) == (True, "Broken upstream", "ann", AT)
    on = switch_service.switch_on(kind=kind, name=name, by="bob", at=AT)

    assert on.pk == off.pk
    assert (on.is_off, on.reason, on.changed_by) == (False, "", "bob")
    assert [(each.by, each.name, each.changes["is_off"]) for each in AuditEntry.objects.order_by("id")] == [
        ("ann", f"{kind} {name}", [False, True]),
        ("bob", f"{kind} {name}", [True, False]),
    ]


def test_switch_raises_when_nothing_changes() -> None:
    make_op()
    switch_service.switch_off(**OFF)

    with pytest.raises(switch_service.AlreadySwitched):
        switch_service.switch_off(**OFF)
    other = switch_service.switch_off(**OFF | {"reason": "Another  reason\n"})
    assert other.reason == "Another reason"
    switch_service.switch_on(kind="op", name="onto.task.add", by="ann", at=AT)
    with pytest.raises(switch_service.AlreadySwitched):
        switch_service.switch_on(kind="op", name="onto.task.add", by="ann", at=AT)


@for_each(
    "fields, message",
    [
        ({"name": "onto.task.ad"}, "There is no op onto.task.ad. Did you mean onto.task.add?"),
        ({"name": "onto.task"}, "There is no op onto.task. Did you mean onto.task.add?"),
        ({"kind": "group", "name": "elsewhere"}, "There is no group elsewhere."),
        ({"kind": "connection", "name": "nowhere"}, "There is no connection nowhere."),
        ({"reason": " \n"}, "Write a few words: why it is off; callers see it."),
        ({"kind": "planet"}, "Value 'planet' is not a valid choice."),
        ({"reason": "x" * 201}, "Ensure this value has at most 200 characters (it has 201)."),
    ],
    undone=True,
)
def test_switch_refuses_other_targets_and_says_why(fields: dict[str, Any], message: str) -> None:
    make_op()

    with pytest.raises(ValidationError) as refused:
        switch_service.switch_off(**OFF | fields)

    assert switch_service.format_error(refused.value) == message
    assert not Switch.objects.exists()


def test_op_of_the_live_release_only_can_be_switched_off_and_a_missing_target_on() -> None:
    create_switch("gone")
    make_op()
    publishing.publish_draft(note="Test", by="tests", at=AT)
    Op.objects.all().delete()

    assert switch_service.switch_off(**OFF).is_off
    assert not switch_service.switch_on(kind="group", name="gone", by="ann", at=AT).is_off


@pytest.mark.django_db(transaction=True)
def test_switch_takes_effect_in_this_process_at_once() -> None:
    make_op()
    assert switches.get_switches().ops == {}

    switch_service.switch_off(**OFF)

    assert switches.get_switches().ops == {"onto.task.add": "Broken upstream"}
