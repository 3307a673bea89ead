"""Markers of what happened, for charts: releases that went live, and changes of cohorts."""

from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.test import RequestFactory

from audit import audit_log
from console.reports.parts.charts import list_markers
from registry.models import Op
from registry.releases import publishing
from tests.support.console.staff import create_staff
from tests.support.rows.copy_rows import make_op

pytestmark = [pytest.mark.both_databases, pytest.mark.django_db]

AT = datetime(2026, 3, 1, 23, 59, tzinfo=UTC)
DAYS = [AT.date() + timedelta(days=number) for number in range(5)]


def list_texts(user: User, *, cohort: str = "") -> dict[int, list[str]]:
    request = RequestFactory().get("/")
    request.user = user
    return {index: [each.text for each in day] for index, day in list_markers(request, DAYS, cohort=cohort).items()}


@pytest.fixture
def manager() -> User:
    return create_staff("pia", role="Product manager")


def test_marker_names_the_last_release_of_a_day_before_what_else_happened(manager: User) -> None:
    make_op()
    audit_log.record_change("cohort", "pilot", None, {"percentage": 1.0}, by="pia", at=AT - timedelta(seconds=9))
    for number, hours in enumerate((0, 10, 20, 24 * 9)):
        Op.objects.update(summary=f"Words {number}")
        publishing.publish_draft(note="Test", by="tests", at=AT + timedelta(hours=hours))

    assert list_texts(manager) == {0: ["r1 went live", "pilot added"], 1: ["r3 went live"]}


def test_markers_tell_of_cohorts_to_those_who_may_see_the_audit_log(manager: User) -> None:
    for number, name in enumerate(("pilot", "pilot", "other")):
        before, after = {"percentage": 5.0 * number}, {"percentage": 5.0 * number + 5}
        at = AT + timedelta(days=number)
        audit_log.record_change("cohort", name, before, after, by="pia", at=at)
    audit_log.record_change("cohort", "early", None, {"percentage": 1.0}, by="pia", at=AT - timedelta(days=9))

    pilot = {0: ["pilot: 0% → 5%"], 1: ["pilot: 5% → 10%"]}
    assert list_texts(manager) == pilot | {2: ["other: 10% → 15%"]}
    assert list_texts(manager, cohort="pilot") == pilot
    assert list_texts(create_staff("una")) == {}
