"""Deleting and exporting all data about a subject."""

import json
from io import StringIO
from typing import Any

import pytest
from django.apps import apps
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command
from django.utils import timezone

from analytics.events import event_log
from analytics.rollout.models import Cohort, CohortRule
from analytics.rollups.models import SubjectFigures
from analytics.turns.models import Turn
from audit import audit_log
from audit.models import AuditEntry
from chat.models import EventChunk, Message, ToolCall
from gateway.credentials import user_keys
from gateway.jobs import subject_data
from gateway.models import ApiKey, BatchEntry, PendingInput, SignIn, StoredFile, UserGrant, UserKey
from notifications.models import Notification
from registry.models import Connection
from tests.support.clients.api import Api
from tests.support.loops import for_each
from workspace.models import WriteRecord

pytestmark = [pytest.mark.both_databases, pytest.mark.django_db]

KINDS = {"events", "turns", "tool_selections", "exposures", "last_seen", "idempotency_records", "batches"}
KINDS |= {
    "workspace_writes",
    "feedback",
    "figures",
    "batch_entries",
    "cohort",
    "audit_entry",
    "user_grants",
    "user_keys",
    "pending_inputs",
    "sign_ins",
    "stored_files",
}


def create_data(make_key: Any, subject: str) -> None:
    """Create a row of every kind that is stored about a subject."""
    kind, action = "subject", AuditEntry.Action.TRIED
    audit_log.record_action(kind, subject, action, by="pm", at=timezone.now(), note="onto.task.list")
    api = Api(make_key(), subject=subject)
    turn = api.post("toolset", {"format": "mcp"}).json()
    api.post("telemetry", {"toolset": turn["id"], "turn": "t1"}, Gateway_Session="s1")
    api.post("feedback", {"turn": "t1", "thumb": "down", "reason": "It was late."}, Gateway_Session="s1")
    api.exec(
        "onto.project.create", {"project": {"name": "Mine", "type_key": "project.technical.app"}}, idempotency_key="k"
    )
    api.post("batch", {"ops": [{"type": "help"}]})
    connection = Connection.objects.get(name="workspace")
    at = timezone.now()
    UserGrant.objects.create(connection=connection, subject=subject, access_token=f"token of {subject}")
    client = ApiKey.objects.latest("pk").client
    UserKey.objects.create(
        connection=connection, client=client, subject=subject, secret=f"token of {subject}", entered_at=at
    )
    author = user_keys.get_audit_actor(subject)
    audit_log.record_action("user_key", "workspace", AuditEntry.Action.ADDED, by=author, at=at)
    PendingInput.objects.create(
        digest=subject, client=client, subject=subject, op="x", trace_id="tr", created_at=at, expires_at=at
    )
    SignIn.objects.create(connection=connection, subject=subject, verifier="verifier", created_at=at)
    StoredFile.objects.create(
        client=ApiKey.objects.latest("pk").client, subject=subject, content=b"abc", size=3, created_at=at, expires_at=at
    )
    Turn.objects.create(client=subject, turn="t1", subject=subject, time=timezone.now())
    SubjectFigures.objects.create(begin=at, subject=subject, is_settled=True)
    event_log.flush()


def create_cohort(*names: str) -> Cohort:
    cohort = Cohort.objects.create(name=f"of-{names[0]}", flag_id="tool_release", variant="live", listed=list(names))
    CohortRule.objects.create(cohort=cohort, attribute="subject", values=list(names))
    changes = {"listed": list(names), "rules": [f"subject is one of {' or '.join(names)}"]}
    audit_log.record_change("cohort", cohort.name, None, changes, by="pm", at=timezone.now())
    return cohort


def export_subject(subject: str) -> list[dict[str, Any]]:
    out = StringIO()
    call_command("export_subject", subject, stdout=out)
    return [json.loads(line) for line in out.getvalue().splitlines()]


def test_export_has_every_kind_of_row_of_one_subject_only(live_catalog: Any, make_key: Any) -> None:
    for subject in ("ana", "ben"):
        create_data(make_key, subject)
    create_cohort("ana", "ben")

    rows = export_subject("ana")

    assert {row["row"] for row in rows} == KINDS
    assert {row.get("subject", "ana") for row in rows} == {"ana"}
    assert [row["content"] for row in rows if row["row"] == "stored_files"] == ["YWJj"]
    assert "token of ana" not in str(rows)
    assert export_subject("nobody") == []


def test_forget_deletes_one_subject_and_keeps_others(live_catalog: Any, make_key: Any) -> None:
    for subject in ("ana", "ben"):
        create_data(make_key, subject)
    cohort = create_cohort("ana", "ben")
    ben_data = export_subject("ben")

    out = StringIO()
    call_command("forget_subject", "ana", stdout=out)

    assert export_subject("ana") == []
    assert export_subject("ben") == ben_data
    cohort.refresh_from_db()
    assert (cohort.listed, cohort.rules.get().values) == (["ben"], ["ben"])
    history = AuditEntry.objects.get(kind="cohort").changes
    of_subjects = AuditEntry.objects.filter(kind="subject")
    forgotten, others = of_subjects.filter(action="removed"), of_subjects.exclude(action="removed")
    assert sorted(others.values_list("name", flat=True)) == ["(not stored)"] * 3 + ["[forgotten]", "ben"]
    assert "ana" not in forgotten.get().name
    assert history["listed"] == [None, ["[forgotten]", "ben"]]
    assert history["rules"] == [None, ["subject is one of [forgotten] or ben"]]
    assert "All data about ana is deleted." in out.getvalue()


def test_forget_replaces_the_only_value_of_a_rule(live_catalog: Any) -> None:
    cohort = create_cohort("ana")

    subject_data.forget("ana", by="tests", at=timezone.now())

    assert cohort.rules.get().values == [subject_data.FORGOTTEN]


def test_forget_reports_a_key_bound_to_the_subject(live_catalog: Any, make_key: Any) -> None:
    make_key(subject="ana")
    out = StringIO()
    call_command("forget_subject", "ana", stdout=out)

    assert "is bound to this subject" in out.getvalue()


@for_each("command", ["forget_subject", "export_subject"])
def test_blank_subject_is_refused(live_catalog: Any, command: str) -> None:
    with pytest.raises(CommandError, match="Gateway-Subject"):
        call_command(command, " ")


def test_every_model_with_a_subject_is_covered() -> None:
    models_with_subject = {
        model
        for model in apps.get_models()
        if model._meta.app_label in ("analytics", "audit", "chat", "gateway", "notifications", "registry")
        and model is not Notification
        and any(field.name == "subject" for field in model._meta.concrete_fields)
    }

    # Keys are reported and not deleted, because an administrator may bind them to another subject.
    belongs_to_others = {BatchEntry, Message, ToolCall, EventChunk, WriteRecord}
    models = {rows.model for rows in subject_data.find_rows("ana").values()}
    assert models == (models_with_subject - {ApiKey}) | belongs_to_others


def test_an_app_cannot_take_the_name_of_other_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subject_data, "_row_finders", ())

    with pytest.raises(ImproperlyConfigured, match="events"):
        subject_data.set_row_finders([lambda subject: {"events": Turn.objects.filter(subject=subject)}])
