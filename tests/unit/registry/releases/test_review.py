"""The review of the draft checks only changed ops again, and still misses no finding."""

from time import sleep
from typing import Any

import pytest

from registry import checks
from registry.checks import errors
from registry.models import Op
from registry.releases import publishing, review
from registry.releases.review import ReviewVerdict
from tests.support.concurrency import run_at_once
from tests.support.rows.copy_rows import AT, make_op

pytestmark = pytest.mark.django_db

BAD = {"type": "object", "properties": {"a": {"type": "nonsense"}}}


def list_problems() -> list[tuple[str, str]]:
    return [(finding.op, finding.rule) for finding in review.review_draft().verdict.problems]


def test_review_reports_errors_until_they_are_fixed() -> None:
    for op in ("onto.task.add", "onto.task.get"):
        make_op(op)
    publishing.publish_draft(note="Test", by="tests", at=AT, accepted="Tested")
    row = Op.objects.filter(op="onto.task.get")
    good = row.get().parameters_schema
    sound = list_problems()

    row.update(parameters_schema=BAD)
    broken = list_problems()
    Op.objects.filter(op="onto.task.add").update(summary="Another")
    still = list_problems()
    row.update(parameters_schema=good)
    repaired = list_problems()

    assert sound == repaired == []
    assert broken == still == [("onto.task.get", "schema_invalid")]


@pytest.mark.parametrize("check_again", ["review", "publish"])
def test_only_ops_that_changed_since_the_review_are_checked_again(
    monkeypatch: pytest.MonkeyPatch, check_again: str
) -> None:
    monkeypatch.setattr(review, "_cached_verdict", None)
    for op in ("onto.task.add", "onto.task.get"):
        make_op(op)
    review.review_draft()
    Op.objects.filter(op="onto.task.get").update(summary="Another")
    checked, find_op_errors = [], errors.find_op_errors

    def record(op: dict[str, Any], **options: Any) -> list[checks.Finding]:
        checked.append(op["op"])
        return find_op_errors(op, **options)

    monkeypatch.setattr(errors, "find_op_errors", record)

    if check_again == "review":
        review.review_draft()
    else:
        publishing.publish_draft(note="Test", by="tests", at=AT, accepted="Tested")

    assert checked == ["onto.task.get"]


@pytest.mark.django_db(transaction=True)
def test_draft_is_checked_once_for_reviews_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    make_op("onto.task.add")
    checked, check_draft = [], review._check_draft

    def check_slowly(*args: Any, **options: Any) -> ReviewVerdict:
        checked.append(args)
        sleep(0.1)  # long enough for the others to come
        return check_draft(*args, **options)

    monkeypatch.setattr(review, "_cached_verdict", None)
    monkeypatch.setattr(review, "_check_draft", check_slowly)

    reviews = run_at_once([review.review_draft] * 4)

    assert {each.version for each in reviews} == {reviews[0].version}
    assert len(checked) == 1
