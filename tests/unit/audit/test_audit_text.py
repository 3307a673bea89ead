"""Changes of the audit log in words."""

from typing import Any

import pytest
from django.utils import timezone

from audit import audit_log
from audit.models import AuditEntry


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"percentage": [5.0, 25.0]}, "5% → 25%"),
        ({"is_on": [True, False]}, "turned off"),
        ({"rules": [[], ["trait plan is one of pro"]]}, "rules – → trait plan is one of pro"),
        ({"rules": [["subject is one of a"], ["subject is one of a", "client is one of b"]]}, "rules"),
        ({"note": ["", "x" * 41]}, "note"),
    ],
)
def test_short_values_are_shown_before_and_after(changes: dict[str, Any], text: str) -> None:
    entry = AuditEntry(kind="cohort", name="pilot", action="changed", changes=changes, by="ann", time=timezone.now())

    assert audit_log.describe_changes(entry) == text


def test_releases_are_named() -> None:
    old, new = "a" * 64, "b" * 64
    entry = AuditEntry(kind="release", name=new, action="changed", changes={"live": [old, new]})

    assert audit_log.find_versions([entry]) == {old, new}
    assert audit_log.describe_changes(entry, {old: "r1", new: "r2 Plainer"}) == "live r1 → r2 Plainer"
    assert audit_log.describe_changes(entry) == f"live {'a' * 12} → {'b' * 12}"


@pytest.mark.parametrize(
    ("kind", "changes", "text"),
    [
        ("alert", {"is_open": [False, True]}, "alert x opened"),
        ("alert", {"is_open": [True, False]}, "alert x closed"),
        ("alert", {"silenced_until": [None, "2030-01-01T10:00"]}, "alert x silenced"),
        ("experiment", {"state": ["draft", "running"], "step_ends_at": [None, ""]}, "experiment x started"),
        ("experiment", {"state": ["running", "decided"], "decision": ["", "ship"]}, "experiment x shipped"),
        ("experiment", {"step": [0, 1]}, "experiment x went to its next step"),
        ("experiment", {"hold_reason": ["", "Too few users."]}, "experiment x held"),
        ("experiment", {"owner": ["ana", "ben"]}, "experiment x changed"),
        ("cohort", {"is_on": [True, False]}, "cohort x changed"),
    ],
)
def test_change_is_called_by_what_happened(kind: str, changes: dict[str, Any], text: str) -> None:
    assert audit_log.describe_entry(AuditEntry(kind=kind, name="x", action="changed", changes=changes)) == text


def test_review_of_a_draft_is_named_only_once_it_is_a_release() -> None:
    version = "0" * 64
    entry = AuditEntry(kind="review", name=version, action=AuditEntry.Action.ASKED)

    assert audit_log.describe_entry(entry) == "review of draft requested"
    assert audit_log.describe_entry(entry, {version: "r5"}) == "review of draft r5 requested"
