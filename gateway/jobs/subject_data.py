"""Export and delete all data that the gateway stores about one subject."""

from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.db import transaction
from django.db.models import Model, QuerySet

from analytics.events import event_log, forgotten_subjects
from analytics.events.models import OperationEvent
from analytics.rollout import exposures
from analytics.rollout.models import Assignment, Cohort, Subject
from analytics.rollups.models import SubjectFigures
from analytics.turns.models import Feedback, ToolSelection, Turn
from audit.models import AuditEntry
from gateway.credentials import user_keys
from gateway.models import (
    ApiKey,
    Batch,
    BatchEntry,
    IdempotencyRecord,
    PendingInput,
    SignIn,
    StoredFile,
    UserGrant,
    UserKey,
)

RowFinder = Callable[[str], dict[str, QuerySet[Any]]]

CHUNK_SIZE = 1_000  # rows
FORGOTTEN = "[forgotten]"

# Columns that an export leaves out: credentials, and which process works on a row.
ENCRYPTED = ("state", "answer", "outcome")  # of a question: nobody can read them without its token
LEFT_OUT = frozenset({"access_token", "refresh_token", "verifier", "username", "secret", "holder", "held_until"})

_row_finders: tuple[RowFinder, ...] = ()


def set_row_finders(finders: Sequence[RowFinder]) -> None:
    """Set functions that return the rows that other apps store about a subject, by their name in an export.

    Raises ImproperlyConfigured if a name is taken: an export would leave out the rows that had it, and nobody
    would delete them.
    """
    global _row_finders
    _row_finders = tuple(finders)
    find_rows("")  # builds the queries, and sends none


def find_rows(subject: str) -> dict[str, QuerySet[Any]]:
    """Return the stored rows of a subject, by their name in an export."""
    models: dict[str, type[Model]] = {
        "events": OperationEvent,
        "turns": Turn,
        "tool_selections": ToolSelection,
        "feedback": Feedback,
        "figures": SubjectFigures,
        "exposures": Assignment,
        "last_seen": Subject,
        "idempotency_records": IdempotencyRecord,
        "batches": Batch,
        "user_grants": UserGrant,
        "user_keys": UserKey,
        "pending_inputs": PendingInput,
        "sign_ins": SignIn,
    }
    querysets: dict[str, QuerySet[Any]] = {
        name: model._default_manager.filter(subject=subject) for name, model in models.items()
    }
    querysets["batch_entries"] = BatchEntry.objects.filter(batch__subject=subject)
    # Contents are read one at a time: a thousand of them may not fit into memory.
    querysets["stored_files"] = StoredFile.objects.filter(subject=subject).defer("content")
    for find_more_rows in _row_finders:
        more = find_more_rows(subject)
        if taken := sorted(querysets.keys() & more.keys()):
            raise ImproperlyConfigured(f"Two apps name rows of a subject {', '.join(taken)}. Rename one of them.")
        querysets |= more
    return querysets


def export_subject(subject: str) -> Iterator[dict[str, Any]]:
    """Yield each stored row of a subject as {row: name, id, …fields}, oldest first within a name."""
    event_log.flush()
    exposures.flush()
    exposures.flush_subjects()
    for name, queryset in find_rows(subject).items():
        for row in queryset.order_by("pk").iterator(CHUNK_SIZE):
            yield {"row": name, "id": row.pk, **_row_to_dict(row)}
    for cohort in _find_cohorts_naming(subject):
        yield {"row": "cohort", "id": cohort.pk, "name": cohort.name}
    for entry in [*_find_tries(subject), *_find_key_changes(subject)]:
        yield {"row": "audit_entry", "id": entry.pk, **_row_to_dict(entry)}


def forget(subject: str, *, by: str, at: datetime) -> dict[str, int]:
    """Delete all data of a subject; return the number of rows by name. Daily figures stay: they name no subject."""
    forgotten_subjects.record_forgotten(subject, by=by, at=at)
    event_log.flush()
    exposures.clear()
    exposures.clear_subjects()
    deleted_counts = {name: _delete_in_chunks(kept) for name, kept in reversed(find_rows(subject).items())}
    with transaction.atomic():
        deleted_counts["cohorts"] = _remove_from_cohorts(subject)
        deleted_counts["audit_entries"] = _redact_history(subject)
    return deleted_counts


def find_bound_keys(subject: str) -> list[ApiKey]:
    """Return the API keys bound to a subject. They name it until an admin deletes them."""
    return list(ApiKey.objects.filter(subject=subject))


def _row_to_dict(row: Model) -> dict[str, Any]:
    encrypted = ENCRYPTED if isinstance(row, PendingInput) else ()
    fields = [field for field in row._meta.concrete_fields if field.attname not in (*LEFT_OUT, *encrypted)]
    return {field.attname: _to_json_value(field.value_from_object(row)) for field in fields}


def _to_json_value(value: Any) -> Any:
    """Return the content of a file as base64, and any other value as it is."""
    return b64encode(value).decode() if isinstance(value, bytes | memoryview) else value


def _delete_in_chunks(queryset: QuerySet[Any]) -> int:
    """Delete rows in chunks, so that locks are short."""
    deleted = 0
    while ids := list(queryset.values_list("pk", flat=True)[:CHUNK_SIZE]):
        queryset.model._default_manager.filter(pk__in=ids).delete()
        deleted += len(ids)
    return deleted


def _find_cohorts_naming(subject: str) -> list[Cohort]:
    """Return the cohorts that name a subject in their list or in a rule."""
    cohorts = Cohort.objects.prefetch_related("rules")
    return [
        cohort
        for cohort in cohorts
        if subject in cohort.listed
        or any(rule.attribute == "subject" and subject in rule.values for rule in cohort.rules.all())
    ]


def _remove_from_cohorts(subject: str) -> int:
    cohorts = _find_cohorts_naming(subject)
    for cohort in cohorts:
        Cohort.objects.filter(pk=cohort.pk).update(listed=[each for each in cohort.listed if each != subject])
        for rule in cohort.rules.all():
            if rule.attribute == "subject" and subject in rule.values:
                # A rule needs a value; no subject has this name.
                rule.values = [each for each in rule.values if each != subject] or [FORGOTTEN]
                rule.save(update_fields=["values"])
    return len(cohorts)


def _find_tries(subject: str) -> QuerySet[AuditEntry]:
    """Return the entries of the audit log about ops that somebody tried for a subject."""
    return AuditEntry.objects.filter(kind="subject", name=subject)


def _find_key_changes(subject: str) -> QuerySet[AuditEntry]:
    """Return the entries of the audit log about keys that the subject entered or deleted."""
    return AuditEntry.objects.filter(kind=user_keys.AUDIT_KIND, by=user_keys.get_audit_actor(subject))


def _redact_history(subject: str) -> int:
    """Redact a subject in the history of cohorts, tried ops and own keys. What was done, by whom and when stays."""
    changed = _find_tries(subject).update(name=FORGOTTEN)
    changed += _find_key_changes(subject).update(by=FORGOTTEN)
    entries = AuditEntry.objects.filter(kind__in=["cohort", "api_key", user_keys.AUDIT_KIND])
    for entry in entries.iterator(CHUNK_SIZE):
        if (redacted := _redact_value(entry.changes, subject)) != entry.changes:
            AuditEntry.objects.filter(pk=entry.pk).update(changes=redacted)
            changed += 1
    return changed


def _redact_value(value: Any, subject: str) -> Any:
    if isinstance(value, dict):
        return {name: _redact_value(each, subject) for name, each in value.items()}
    if isinstance(value, list):
        return [_redact_value(each, subject) for each in value]
    # A rule is stored as text: subject is one of ana or ben.
    if isinstance(value, str) and subject in value.split():
        return " ".join(FORGOTTEN if word == subject else word for word in value.split(" "))
    return value
