"""The experiments endpoints: what the page of an experiment shows, for programs."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from analytics.experiments import experiment_job, lifecycle
from analytics.rollout.experiments import Experiment
from gateway.models import Scope
from tests.support.clients.api import Api, assert_refused
from tests.support.rows.experiment_rows import add_users, create_draft, create_experiment

MakeApi = Callable[..., Api]


@pytest.fixture
def reader(live_catalog: Any, make_key: Callable[..., str]) -> Api:
    """A key that reads reports."""
    return Api(make_key(scopes=[Scope.REPORTS], subject=""), "")


@pytest.fixture
def experiment(live_catalog: Any) -> Experiment:
    """An experiment with users of two clients."""
    at = timezone.now()
    experiment = create_experiment(at - timedelta(hours=2))
    for arm, failed in (("tools-control", 3), ("tools-b", 0)):
        add_users(arm, at - timedelta(hours=1), failures=[failed] * 30, client="other")
    while experiment_job.measure(at):
        pass
    return experiment


def test_experiment_has_its_verdict_and_its_figures(reader: Api, experiment: Experiment) -> None:
    answer = reader.get(f"experiments/{experiment.pk}").json()

    assert answer["verdict"].startswith("Surface hybrid fails 30.0 points less than surface legacy (")
    assert [arm["name"] for arm in answer["arms"]] == ["tools-control", "tools-b"]
    figures = answer["figures"]
    assert figures["users"] == {"tools-control": 30, "tools-b": 30}
    first = figures["metrics"][0]
    assert (first["metric"], first["control"], first["value"], first["verdict"]) == ("failure_rate", 0.3, 0, "better")
    assert [each["part"] for each in figures["ops"]] == ["onto.task.get"]
    assert figures["guardrails"][0]["kind"] == "guardrail"


def test_figures_of_other_clients_are_not_shown(reader: Api, experiment: Experiment) -> None:
    assert reader.get(f"experiments/{experiment.pk}").json()["figures"]["clients"] == []


def test_experiment_without_figures_says_so(reader: Api) -> None:
    draft = create_draft(timezone.now())

    answer = reader.get(f"experiments/{draft.pk}").json()

    assert (answer["state"], answer["figures"], answer["started_at"]) == ("draft", None, None)
    assert "draft" in answer["verdict"]


def test_experiment_has_the_steps_that_went_on_without_a_test(reader: Api) -> None:
    experiment = create_experiment(timezone.now(), steps=[[5, 4], [50, 8]])
    lifecycle.advance(experiment, by="ana", at=timezone.now(), note="Staff only.")

    [step] = reader.get(f"experiments/{experiment.pk}").json()["overridden_steps"]

    assert (step["step"], step["percent"], step["by"], step["is_tested"]) == (1, 5, "ana", False)
    assert (step["reason"], step["note"]) == ("", "Staff only.")


def test_experiments_come_in_pages_newest_first(reader: Api) -> None:
    for name in ("one", "two", "three"):
        create_draft(timezone.now(), name=name)

    names, address = [], "experiments?limit=2"
    while address:
        page = reader.get(address).json()
        names += [each["name"] for each in page["results"]]
        address = page["next_cursor"] and f"experiments?limit=2&cursor={page['next_cursor']}"

    assert names == ["three", "two", "one"]


def test_experiments_need_the_scope_and_a_key_of_all_users(
    live_catalog: Any, reader: Api, make_key: Callable[..., str]
) -> None:
    create_draft(timezone.now())

    for key in (make_key(scopes=[Scope.EVENTS], subject=""), make_key(scopes=[Scope.REPORTS], subject="ana")):
        assert Api(key, "").get("experiments").status_code == 403
    assert_refused(reader.get("experiments/999999"), 404, "unknown_experiment")
