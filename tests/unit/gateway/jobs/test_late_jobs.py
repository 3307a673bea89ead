"""A gateway whose jobs nobody runs says so: in the log, the metrics, /readyz, the console and the deployment check."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.core.checks import run_checks
from django.db.models.functions import Now
from django.test import Client

from core import manifest, metrics
from core.manifest import Job
from gateway.jobs import late_jobs
from gateway.models import PeriodicJob

pytestmark = [pytest.mark.both_databases, pytest.mark.django_db]

MINUTE = timedelta(minutes=1)


@pytest.fixture(autouse=True)
def _jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = [Job(name, lambda _: False, MINUTE) for name in ("one", "two")]
    monkeypatch.setattr(manifest, "_collected", replace(manifest.get(), jobs=jobs))
    monkeypatch.setattr(late_jobs, "_latest", None)
    monkeypatch.setattr(late_jobs, "_begun_at", late_jobs.time.monotonic())


@pytest.fixture
def look(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    """Return a function that looks at the jobs and returns what was logged about them."""
    caplog.set_level("INFO", late_jobs.__name__)

    def look() -> list[str]:
        caplog.clear()
        monkeypatch.setattr(late_jobs, "_next_check", 0.0)
        late_jobs.check_when_due()
        return [record.getMessage() for record in caplog.records]

    return look


def create_rows(**minutes: float) -> None:
    """Create rows that were due so many minutes ago."""
    for name, each in minutes.items():
        PeriodicJob.objects.update_or_create(name=name, defaults={"held_until": Now() - each * MINUTE})


def test_late_jobs_are_logged_when_that_begins_and_ends(look: Callable[[], list[str]]) -> None:
    create_rows(one=1.5, two=-1)
    assert look() == []

    create_rows(one=5, two=3)
    assert look() == ["jobs.late jobs=2 latest=one late_seconds=300"]
    assert look() == []
    assert metrics.JOBS_LATE._value.get() == pytest.approx(300, abs=60)  # type: ignore[attr-defined]

    create_rows(one=-1, two=1)
    assert look() == ["jobs.in_time"]
    assert metrics.JOBS_LATE._value.get() == 0  # type: ignore[attr-defined]


def test_jobs_that_have_never_run_are_late_after_some_time(
    look: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    create_rows(one=-1)
    assert look() == []

    monkeypatch.setattr(late_jobs, "_begun_at", late_jobs.time.monotonic() - 200)

    assert look() == ["jobs.late jobs=1 latest=two late_seconds=200"]


def test_unknown_rows_are_not_late() -> None:
    create_rows(one=-1, two=-1, removed=500)

    assert late_jobs.find_late_jobs() == []


@pytest.mark.parametrize(
    ("production", "hint"), [(True, "Run one or more processes of manage.py run_jobs --forever."), (False, "The log")]
)
def test_readyz_says_it_and_stays_ready(
    look: Callable[[], list[str]], live_catalog: object, client: Client, settings: Any, production: bool, hint: str
) -> None:
    settings.PRODUCTION = production
    create_rows(one=7.5, two=-1)
    look()

    response = client.get("/readyz")

    assert response.status_code == 200
    assert response.json()["checks"]["jobs"].startswith(f"The job one should have run 7 minutes ago. {hint}")


def run_deployment_check(*, databases: list[str] | None) -> list[str]:
    """Return the warnings about jobs as manage.py check --deploy shows them."""
    messages = run_checks(include_deployment_checks=True, databases=databases, tags=["database"])
    return [str(each.msg) for each in messages if each.id == "gateway.W001"]


def test_deployment_check_warns_if_nobody_runs_jobs() -> None:
    assert run_deployment_check(databases=["default"]) == ["No process has run a periodic job."]
    assert run_deployment_check(databases=None) == []

    create_rows(one=9, two=-1)
    assert run_deployment_check(databases=["default"]) == ["The job one should have run 9 minutes ago."]

    create_rows(one=-1)
    assert run_deployment_check(databases=["default"]) == []
