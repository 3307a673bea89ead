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
        ({"is_on": [True, False]}, "on yes → no"),
        ({"rules": [[], ["trait plan is one of pro"]]}, "rules – → trait plan is one of pro"),
        ({"rules": [["subject is one of a"], ["subject is one of a", "client is one of b"]]}, "rules"),
        ({"note": ["", "x" * 41]}, "note"),
    ],
)
def test_short_values_are_shown_before_and_after(changes: dict[str, Any], text: str) -> None:
    entry = AuditEntry(kind="cohort", name="pilot", action="changed", changes=changes, by="ann", time=timezone.now())

    assert audit_log.describe_changes(entry) == text
