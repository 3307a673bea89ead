"""The review of the draft: what was checked before is not checked again, and nothing is missed by that."""

from datetime import UTC, datetime
from typing import Any

import pytest

from registry import checks
from registry.models import Op
from registry.releases import publishing, review
from tests.support.copy_rows import make_op

pytestmark = pytest.mark.django_db

AT = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
BAD = {"type": "object", "properties": {"a": {"type": "nonsense"}}}


def rules() -> list[tuple[str, str]]:
    return [(finding.op, finding.rule) for finding in review.review_draft().verdict.problems]


def test_what_blocks_is_told_until_it_is_mended() -> None:
    for op in ("onto.task.add", "onto.task.get"):
        make_op(op)
    publishing.publish_draft(note="Test", by="tests", at=AT, accepted="Tested")
    row = Op.objects.filter(op="onto.task.get")
    good = row.get().parameters_schema
    sound = rules()

    row.update(parameters_schema=BAD)
    broken = rules()
    Op.objects.filter(op="onto.task.add").update(summary="Another")
    still = rules()
    row.update(parameters_schema=good)
    mended = rules()

    assert sound == mended == []
    assert broken == still == [("onto.task.get", "schema_invalid")]


def test_only_ops_that_changed_are_looked_at_again_by_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    for op in ("onto.task.add", "onto.task.get"):
        make_op(op)
    publishing.publish_draft(note="Test", by="tests", at=AT, accepted="Tested")
    review.review_draft()
    looked_at: list[str] = []
    op_problems = checks.find_op_errors

    def seen(op: dict[str, Any], **known: Any) -> Any:
        looked_at.append(op["op"])
        return op_problems(op, **known)

    monkeypatch.setattr(checks.errors, "find_op_errors", seen)
    Op.objects.filter(op="onto.task.get").update(summary="Another")
    review.review_draft()

    assert looked_at == ["onto.task.get"]
