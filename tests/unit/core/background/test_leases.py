"""One process at a time has a row, and no row stays with a process that died. Shown on rows of notifications."""

from collections.abc import Iterator
from datetime import timedelta
from unittest.mock import Mock

import pytest
from django.db import connection
from django.db.models.functions import Now
from django.utils import timezone

from core.background import leases
from notifications.models import Notification
from tests.support.concurrency import run_at_once
from tests.support.servers.processes import eventually

pytestmark = [pytest.mark.both_databases, pytest.mark.django_db]

MINUTE = timedelta(minutes=1)


def create_row(subject: str = "one") -> Notification:
    return Notification.objects.create(
        channel="webhook", event="e", subject=subject, text="", by="ann", held_until=Now(), created_at=timezone.now()
    )


def claim() -> Notification | None:
    return leases.claim(Notification.objects.order_by("subject"), MINUTE)


def claim_one() -> Notification:
    row = claim()
    assert row is not None
    return row


def count_seconds_left(row: Notification) -> float:
    """Return the seconds until the lease of a row ends, by the clock of the database."""
    stored = Notification.objects.annotate(now=Now()).get(pk=row.pk)
    return float((stored.held_until - stored.now).total_seconds())


def end_leases() -> None:
    """Let so much time pass that all leases end."""
    Notification.objects.update(held_until=Now() - timedelta(seconds=1))


def test_claim_takes_the_first_free_row_and_counts_the_attempt() -> None:
    create_row("one")
    create_row("two")

    rows = [claim(), claim(), claim()]

    assert [row and (row.subject, row.attempts) for row in rows] == [("one", 1), ("two", 1), None]
    assert all(50 < count_seconds_left(row) <= 60 for row in rows if row)
    assert len({row.holder for row in rows if row}) == 2


def test_row_whose_lease_ended_is_claimed_by_another_process() -> None:
    create_row()
    first = claim_one()
    end_leases()

    second = claim_one()

    assert second.attempts == 2
    check_lost(first)
    leases.release(second, state="failed", held_until=Now())
    assert Notification.objects.get().state == "failed"
    check_lost(Notification.objects.get())


def check_lost(row: Notification) -> None:
    """Check that a process that has not the lease can neither extend nor end it."""
    with pytest.raises(leases.LeaseLost):
        leases.release(row, state="waiting")
    assert not leases.extend(row, MINUTE)


def test_released_row_is_free_and_can_rest_before() -> None:
    create_row()
    row = claim_one()

    leases.release(row, held_until=Now() + 2 * MINUTE)

    assert (Notification.objects.get().holder, claim()) == ("", None)
    end_leases()
    assert claim()


def test_extended_lease_ends_so_much_later_than_now() -> None:
    create_row()
    row = claim_one()

    assert leases.extend(row, 5 * MINUTE)

    assert 290 < count_seconds_left(row) <= 300


@pytest.fixture
def committed_row(transactional_db: None) -> Iterator[Notification]:
    yield create_row()
    connection.close()


@pytest.mark.parametrize("_attempt", range(5))
def test_one_of_several_processes_claims_a_row(committed_row: Notification, _attempt: int) -> None:
    claimed = run_at_once([claim] * 4, connected=True)

    assert [row.attempts for row in claimed if row] == [1]


def test_kept_lease_is_extended_until_the_block_ends(
    committed_row: Notification, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "INTERVAL", 0.01)
    row = claim_one()

    with leases.keep(row, 5 * MINUTE):
        eventually(lambda: count_seconds_left(row) > 100, within=20, what="an extension")
        assert leases.count_kept(Notification) == 1

    assert leases.count_kept(Notification) == 0
    eventually(lambda: leases._thread is None, within=20, what="the end of the thread")


def test_lease_that_was_lost_is_not_extended() -> None:
    create_row()
    first = claim_one()
    end_leases()
    second = claim_one()

    with leases.keep(first, 5 * MINUTE):
        leases.extend_kept()

    assert count_seconds_left(second) <= 60


def test_failed_extension_is_logged_and_tried_again(
    committed_row: Notification, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(leases, "INTERVAL", 0.01)
    extend = Mock(side_effect=ConnectionError("the database is away"))
    monkeypatch.setattr(leases, "_extend_rows", extend)
    row = claim_one()

    with leases.keep(row, MINUTE):
        eventually(lambda: extend.call_count > 2, within=20, what="more tries")

    assert "leases.not_extended leases=1" in caplog.text
    eventually(lambda: leases._thread is None, within=20, what="the end of the thread")
