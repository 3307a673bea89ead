"""manage.py run_evals: what it prints, and how it exits."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from registry.models import Activation, EvalCase, Op, Release
from registry.releases import publishing
from tests.support.rows.copy_rows import make_op

pytestmark = pytest.mark.django_db


@pytest.fixture
def live(db: None) -> Release:
    make_op("onto.task.ring", summary="Telephone a person", entity="call", action="ring")
    make_op("onto.task.paint", summary="Put colour on a wall", entity="wall", action="paint")
    EvalCase.objects.create(request="telephone the plumber", op="onto.task.ring")
    EvalCase.objects.create(request="colour on the wall", op="onto.task.paint", case_set="held_back")
    return publishing.publish_draft(note="Test", by="tests", at=datetime.now(UTC), accepted="Tested")


def run(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    call_command("run_evals", *args)
    return capsys.readouterr().out


def lose_a_case() -> None:
    Op.objects.filter(op="onto.task.ring").update(summary="Do it")
    Op.objects.filter(op="onto.task.paint").update(summary="Telephone a plumber, put colour on a wall")


def test_it_prints_the_hit_rates_of_each_set_or_json(live: Release, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys).splitlines() == [
        "tuned, 1 cases: 100.0% at 1 (+0.0), 100.0% at 3 (+0.0), 100.0% at 5 (+0.0)",
        "held back, 1 cases: 100.0% at 1 (+0.0), 100.0% at 3 (+0.0), 100.0% at 5 (+0.0)",
    ]
    assert len(run(capsys, "--set", "tuned").splitlines()) == 1
    result = json.loads(run(capsys, "--json", "--set", "tuned"))
    assert result["sets"] == {"tuned": {"cases": 1, "hits": [1, 1, 1], "hits_before": [1, 1, 1]}}
    [case] = result["cases"]
    assert (case["request"], case["rank"], case["rank_before"]) == ("telephone the plumber", 1, 1)
    assert case["found"][0] == "onto.task.ring"


def test_it_exits_with_1_if_the_draft_loses_more_than_the_margin(
    live: Release, capsys: pytest.CaptureFixture[str], settings: Any
) -> None:
    lose_a_case()

    with pytest.raises(CommandError, match="fell by more than 2 points") as failure:
        call_command("run_evals")

    assert failure.value.returncode == 1
    lost = "lost: telephone the plumber (onto.task.ring): 1 → not found, found instead: onto.task.paint"
    assert lost in capsys.readouterr().out
    assert "+0.0" in run(capsys, "--release", live.version)
    settings.GATEWAY_EVAL_MARGIN = 100
    assert "lost: " in run(capsys)


def test_it_runs_on_only_some_changes(live: Release, capsys: pytest.CaptureFixture[str]) -> None:
    lose_a_case()

    for pattern, lost in (("onto.task.p*", "1 → 2"), ("onto.task.*", "1 → not found")):
        with pytest.raises(CommandError, match="points"):
            run(capsys, "--only", pattern)
        assert f"telephone the plumber (onto.task.ring): {lost}" in capsys.readouterr().out
    with pytest.raises(CommandError, match="Leave out --release"):
        run(capsys, "--only", "onto.task.*", "--release", live.version)


def test_it_compares_with_another_release(live: Release, capsys: pytest.CaptureFixture[str]) -> None:
    lose_a_case()
    publishing.publish_draft(note="Worse", by="tests", at=datetime.now(UTC), accepted="Tested", accepted_loss="Tested")

    assert "+0.0" in run(capsys)
    with pytest.raises(CommandError, match="points"):
        call_command("run_evals", "--against", live.version[:8])


def test_it_says_what_is_missing(db: None) -> None:
    with pytest.raises(CommandError, match="no active eval cases"):
        call_command("run_evals")
    EvalCase.objects.create(request="ring", op="onto.task.ring")
    with pytest.raises(CommandError, match="No release has the version abcdef"):
        call_command("run_evals", "--release", "abcdef")


def test_publishing_by_command_takes_the_reason_for_a_loss(live: Release, capsys: pytest.CaptureFixture[str]) -> None:
    lose_a_case()

    with pytest.raises(CommandError, match="--loss-reason TEXT"):
        call_command("catalog", "publish", "--note", "Worse")
    call_command("catalog", "publish", "--note", "Worse", "--loss-reason", "Nobody calls.")

    live_release = Activation.objects.get(is_live=True).release
    assert live_release.activations.get().lost_because == "Nobody calls."
