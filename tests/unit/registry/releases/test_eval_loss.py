"""Publishing a draft that loses more eval cases than the margin needs a reason, which the release history keeps."""

from typing import Any

import pytest

from registry.evals import evaluation
from registry.models import Activation, EvalCase, Op
from registry.releases import lifecycle, publishing, review, stored_releases
from tests.support.rows.copy_rows import AT, make_op

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def live_catalog() -> None:
    """A live catalog in which the request of one case finds its op."""
    make_op("onto.task.ring", summary="Telephone a person", entity="call", action="ring")
    make_op("onto.task.paint", summary="Put colour on a wall", entity="wall", action="paint")
    EvalCase.objects.create(request="telephone the plumber", op="onto.task.ring")
    publish()


def publish(**fields: Any) -> Any:
    return publishing.publish_draft(note="Test", by="tests", at=AT, accepted="Tested", **fields)


def lose_the_case() -> None:
    Op.objects.filter(op="onto.task.ring").update(summary="Do it")
    Op.objects.filter(op="onto.task.paint").update(summary="Telephone a plumber")


@pytest.mark.both_databases
def test_a_loss_needs_a_reason_which_is_stored_with_the_figures() -> None:
    lose_the_case()

    with pytest.raises(publishing.LossReasonMissing, match=r"give a reason to publish anyway.*telephone the plumber"):
        publish(accepted_loss="  ")
    assert (Activation.objects.count(), publishing.Release.objects.count()) == (1, 1)

    publish(accepted_loss=" Nobody calls any more. ")
    live = Activation.objects.get(is_live=True)
    assert live.lost_because == "Nobody calls any more."
    assert live.eval_figures == {"tuned": {"cases": 1, "hits": [0, 0, 0], "hits_before": [1, 1, 1]}}


def test_no_reason_is_needed_within_the_margin_or_without_cases(settings: Any) -> None:
    lose_the_case()
    settings.GATEWAY_EVAL_MARGIN = 100
    publish(accepted_loss="Not needed, so not stored")
    assert Activation.objects.get(is_live=True).lost_because == ""

    settings.GATEWAY_EVAL_MARGIN = 0
    EvalCase.objects.update(is_active=False)
    Op.objects.filter(op="onto.task.ring").update(summary="Do it again")
    publish()
    assert Activation.objects.get(is_live=True).eval_figures == {}


def test_a_rollback_needs_no_reason() -> None:
    bad = Activation.objects.get(is_live=True).release_id
    Op.objects.filter(op="onto.task.ring").update(summary="Telephone a person, at once")
    publish()

    lifecycle.activate_release(version=bad, note="Back", by="tests", at=AT)

    assert stored_releases.is_live(bad)


def test_shipped_copy_is_published_with_its_note_as_the_reason() -> None:
    lose_the_case()

    publishing.publish_loaded_copy(had_edits=False, note="Shipped catalog", by="tests", at=AT)

    assert Activation.objects.get(is_live=True).lost_because == "Shipped catalog"


def test_the_review_says_what_is_lost_and_cases_of_a_broken_op_count_as_lost() -> None:
    assert not review.review_draft().needs_loss_reason
    Op.objects.filter(op="onto.task.ring").update(parameters_schema={"type": "object", "properties": {"a": 1}})

    broken = review.review_draft()
    on_draft = evaluation.run_on_draft(evaluation.list_active_cases())

    assert broken.needs_loss_reason
    assert broken.evals is not None
    assert broken.evals.missing_ops == ("onto.task.ring",)
    assert on_draft.missing_ops == {"onto.task.ring"}


def test_a_changed_case_is_run_again() -> None:
    assert not review.review_draft().evals.lost  # type: ignore[union-attr]
    EvalCase.objects.update(op="onto.task.paint")

    compared = review.review_draft().evals

    assert compared is not None
    assert compared.cases[0].after.rank != 1
