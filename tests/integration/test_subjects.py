"""Forgetting a subject, and telling what is kept of one."""

import json
from io import StringIO
from typing import Any

import pytest
from django.apps import apps
from django.core.management import CommandError, call_command
from django.utils import timezone

from analytics import audit
from analytics.events import event_log
from analytics.models import AuditEntry, Cohort, CohortRule, Turn
from gateway.jobs import subject_data
from gateway.models import ApiKey, BatchEntry
from tests.support.api import Api

pytestmark = [pytest.mark.both_databases, pytest.mark.django_db]

KINDS = {"events", "turns", "tool_selections", "exposures", "last_seen", "idempotency_records", "batches"}
KINDS |= {"batch_entries", "cohort"}


def leave_traces(make_key: Any, subject: str) -> None:
    """Leave a row of every kind that is kept of a subject."""
    api = Api(make_key(), subject=subject)
    turn = api.post("toolset", {"format": "mcp"}).json()
    api.post("telemetry", {"toolset": turn["id"], "turn": "t1"}, Gateway_Session="s1")
    api.exec(
        "onto.project.create", {"project": {"name": "Mine", "type_key": "project.technical.app"}}, idempotency_key="k"
    )
    api.post("batch", {"ops": [{"type": "help"}]})
    Turn.objects.create(client=subject, turn="t1", subject=subject, time=timezone.now())
    event_log.flush()


def cohort_naming(*names: str) -> Cohort:
    cohort = Cohort.objects.create(name=f"of-{names[0]}", flag_id="tool_release", variant="live", listed=list(names))
    CohortRule.objects.create(cohort=cohort, attribute="subject", values=list(names))
    said = {"listed": list(names), "rules": [f"subject is one of {' or '.join(names)}"]}
    audit.record_change(AuditEntry.Kind.COHORT, cohort.name, None, said, by="pm", at=timezone.now())
    return cohort


def kept_of(subject: str) -> list[dict[str, Any]]:
    out = StringIO()
    call_command("export_subject", subject, stdout=out)
    return [json.loads(line) for line in out.getvalue().splitlines()]


def test_an_export_tells_every_kind_of_row_and_nobody_elses(live_catalog: Any, make_key: Any) -> None:
    for subject in ("ana", "ben"):
        leave_traces(make_key, subject)
    cohort_naming("ana", "ben")

    rows = kept_of("ana")

    assert {row["row"] for row in rows} == KINDS
    assert {row.get("subject", "ana") for row in rows} == {"ana"}
    assert kept_of("nobody") == []


def test_forgetting_leaves_nothing_of_one_and_all_of_another(live_catalog: Any, make_key: Any) -> None:
    for subject in ("ana", "ben"):
        leave_traces(make_key, subject)
    cohort = cohort_naming("ana", "ben")
    of_ben = kept_of("ben")

    out = StringIO()
    call_command("forget_subject", "ana", stdout=out)

    assert kept_of("ana") == []
    assert kept_of("ben") == of_ben
    cohort.refresh_from_db()
    assert (cohort.listed, cohort.rules.get().values) == (["ben"], ["ben"])
    history = AuditEntry.objects.get(kind="cohort").changes
    assert history["listed"] == [None, ["[forgotten]", "ben"]]
    assert history["rules"] == [None, ["subject is one of [forgotten] or ben"]]
    assert "All data about ana is deleted." in out.getvalue()


def test_a_rule_that_named_nobody_else_names_nobody(live_catalog: Any) -> None:
    cohort = cohort_naming("ana")

    subject_data.forget("ana")

    assert cohort.rules.get().values == [subject_data.FORGOTTEN]


def test_a_key_that_is_bound_is_told_of(live_catalog: Any, make_key: Any) -> None:
    make_key(subject="ana")
    out = StringIO()
    call_command("forget_subject", "ana", stdout=out)

    assert "is bound to it" in out.getvalue()


@pytest.mark.parametrize("command", ["forget_subject", "export_subject"])
def test_an_empty_subject_is_nobody(live_catalog: Any, command: str) -> None:
    with pytest.raises(CommandError, match="Gateway-Subject"):
        call_command(command, " ")


def test_every_model_that_names_a_subject_is_known() -> None:
    named = {
        model
        for model in apps.get_models()
        if model._meta.app_label in ("analytics", "gateway", "registry")
        and any(field.name == "subject" for field in model._meta.concrete_fields)
    }

    # A key is told of and not deleted: an administrator may want another subject for it.
    assert {kept.model for kept in subject_data.find_rows("ana").values()} == (named - {ApiKey}) | {BatchEntry}
