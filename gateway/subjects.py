"""Export and delete all data that the gateway stores about one subject."""

from collections.abc import Iterator
from typing import Any

from django.db import transaction
from django.db.models import Model, QuerySet

from analytics import events
from analytics.models import Assignment, AuditEntry, Cohort, OperationEvent, Subject, ToolSelection, Turn
from analytics.rollout import exposures, people
from gateway.models import ApiKey, Batch, BatchEntry, IdempotencyRecord

AT_ONCE = 1_000  # rows
FORGOTTEN = "[forgotten]"


def rows(subject: str) -> dict[str, QuerySet[Any]]:
    """Return the stored rows of a subject, by their name in an export."""
    own: dict[str, type[Model]] = {
        "events": OperationEvent,
        "turns": Turn,
        "tool_selections": ToolSelection,
        "exposures": Assignment,
        "last_seen": Subject,
        "idempotency_records": IdempotencyRecord,
        "batches": Batch,
    }
    found: dict[str, QuerySet[Any]] = {
        name: model._default_manager.filter(subject=subject) for name, model in own.items()
    }
    return found | {"batch_entries": BatchEntry.objects.filter(batch__subject=subject)}


def export(subject: str) -> Iterator[dict[str, Any]]:
    """Yield each stored row of a subject as {row: name, id, …fields}, oldest first within a name."""
    events.flush()
    exposures.follow()
    people.follow()
    for name, kept in rows(subject).items():
        for row in kept.order_by("pk").iterator(AT_ONCE):
            yield {"row": name, "id": row.pk, **_fields(row)}
    for cohort in _naming(subject):
        yield {"row": "cohort", "id": cohort.pk, "name": cohort.name}


def forget(subject: str) -> dict[str, int]:
    """Delete all data of a subject; return the number of rows by name. Daily figures stay: they name no subject."""
    events.flush()
    exposures.forget()
    people.forget()
    gone = {name: _delete(kept) for name, kept in reversed(rows(subject).items())}
    with transaction.atomic():
        gone["cohorts"] = _unlist(subject)
        gone["audit_entries"] = _blank(subject)
    return gone


def keys_of(subject: str) -> list[ApiKey]:
    """Return the API keys bound to a subject. They name it until an admin deletes them."""
    return list(ApiKey.objects.filter(subject=subject))


def _fields(row: Model) -> dict[str, Any]:
    return {field.attname: field.value_from_object(row) for field in row._meta.concrete_fields}


def _delete(kept: QuerySet[Any]) -> int:
    """Delete rows in chunks, so that locks are short."""
    deleted = 0
    while ids := list(kept.values_list("pk", flat=True)[:AT_ONCE]):
        kept.model._default_manager.filter(pk__in=ids).delete()
        deleted += len(ids)
    return deleted


def _naming(subject: str) -> list[Cohort]:
    """Return the cohorts that name a subject in their list or in a rule."""
    cohorts = Cohort.objects.prefetch_related("rules")
    return [
        cohort
        for cohort in cohorts
        if subject in cohort.listed
        or any(rule.attribute == "subject" and subject in rule.values for rule in cohort.rules.all())
    ]


def _unlist(subject: str) -> int:
    found = _naming(subject)
    for cohort in found:
        Cohort.objects.filter(pk=cohort.pk).update(listed=[each for each in cohort.listed if each != subject])
        for rule in cohort.rules.all():
            if rule.attribute == "subject" and subject in rule.values:
                # A rule needs a value; no subject has this name.
                rule.values = [each for each in rule.values if each != subject] or [FORGOTTEN]
                rule.save(update_fields=["values"])
    return len(found)


def _blank(subject: str) -> int:
    """Redact a subject in the history of cohorts. What changed, by whom and when stays."""
    entries = AuditEntry.objects.filter(kind=AuditEntry.Kind.COHORT)
    changed = 0
    for entry in entries.iterator(AT_ONCE):
        if (blanked := _without(entry.changes, subject)) != entry.changes:
            AuditEntry.objects.filter(pk=entry.pk).update(changes=blanked)
            changed += 1
    return changed


def _without(value: Any, subject: str) -> Any:
    if isinstance(value, dict):
        return {name: _without(each, subject) for name, each in value.items()}
    if isinstance(value, list):
        return [_without(each, subject) for each in value]
    # A rule is stored as text: subject is one of ana or ben.
    if isinstance(value, str) and subject in value.split():
        return " ".join(FORGOTTEN if word == subject else word for word in value.split(" "))
    return value
