"""Rows of flags and cohorts: validation, and how the rollout cache follows them."""

from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from analytics.flags import FlagKey
from analytics.rollout import assignment, models
from analytics.rollout.evaluation import EvaluationContext
from analytics.rollout.models import Cohort, CohortRule, Flag
from tests.support.loops import for_each

pytestmark = [pytest.mark.both_databases, pytest.mark.django_db]


def make_cohort(name: str = "dev-team", **fields: Any) -> Cohort:
    flag = Flag.objects.get(key=fields.pop("flag", FlagKey.SURFACE))
    return Cohort.objects.create(**{"name": name, "flag": flag, "variant": "gateway", "percentage": 100} | fields)


def evaluate_surface(subject: str, **fields: Any) -> tuple[str, str]:
    details = assignment.get_current_rollout().evaluate(FlagKey.SURFACE, EvaluationContext(subject, **fields))
    return details.variant, details.cohort


def test_every_declared_flag_has_its_row() -> None:
    assert set(Flag.objects.values_list("key", flat=True)) == set(FlagKey)


def test_cohort_is_applied_with_its_rules_and_list() -> None:
    cohort = make_cohort(listed=["guest"])
    CohortRule.objects.create(cohort=cohort, attribute="environment", values=["dev"])
    assignment.refresh_rollout()

    assert evaluate_surface("ana", environment="dev") == ("gateway", "dev-team")
    assert evaluate_surface("ana", environment="production") == ("legacy", "")
    assert evaluate_surface("guest") == ("gateway", "dev-team")


def test_cohort_or_flag_that_is_off_is_ignored() -> None:
    cohort = make_cohort()
    assignment.refresh_rollout()
    assert evaluate_surface("ana")[0] == "gateway"

    Cohort.objects.filter(pk=cohort.pk).update(is_on=False)
    assignment.refresh_rollout()
    assert evaluate_surface("ana")[0] == "legacy"

    Cohort.objects.filter(pk=cohort.pk).update(is_on=True)
    Flag.objects.filter(key=FlagKey.SURFACE).update(is_on=False)
    assignment.refresh_rollout()
    assert evaluate_surface("ana")[0] == "legacy"


def test_cohorts_are_evaluated_in_order_of_position() -> None:
    make_cohort("later", position=2)
    make_cohort("sooner", position=1, variant="legacy")
    assignment.refresh_rollout()

    assert evaluate_surface("ana") == ("legacy", "sooner")


def test_new_cohort_comes_last_in_its_flag() -> None:
    names = ("first", "second", "third")
    cohorts = [make_cohort(name) for name in names]
    other = make_cohort("copy", flag=FlagKey.RELEASE, variant="live")
    cohorts[0].delete()

    assert make_cohort("fourth").position == 3
    assert [each.position for each in (*cohorts[1:], other)] == [1, 2, 0]
    with pytest.raises(IntegrityError), transaction.atomic():
        make_cohort("same-place", position=2)


def test_cohorts_are_put_in_another_order() -> None:
    flag, ids = Flag.objects.get(key=FlagKey.SURFACE), [make_cohort(name).pk for name in ("one", "two", "three")]
    new = [ids[2], ids[0], ids[1]]

    models.set_order(flag, new)

    assert list(Cohort.objects.values_list("pk", flat=True)) == new
    for incomplete in (ids[:2], [*ids, 0], [ids[0], ids[0], ids[1]]):
        with pytest.raises(ValidationError, match="A cohort was added or deleted in the meantime"):
            models.set_order(flag, incomplete)


def test_refresh_keeps_the_rollout_when_nothing_changed(django_assert_num_queries: Any) -> None:
    make_cohort()
    assignment.refresh_rollout()
    before = assignment.get_current_rollout()

    with django_assert_num_queries(2):
        assignment.refresh_rollout()

    assert assignment.get_current_rollout() is before


def test_renamed_cohort_keeps_its_subjects() -> None:
    cohort = make_cohort(percentage=50)
    assignment.refresh_rollout()
    before = [evaluate_surface(f"user-{number}")[0] for number in range(100)]
    cohort.name = "renamed"
    cohort.save()
    assignment.refresh_rollout()

    assert [evaluate_surface(f"user-{number}")[0] for number in range(100)] == before


@for_each(
    "fields, message",
    [
        ({"variant": "worker"}, "Set Surface to gateway, hybrid, native, discovery or legacy."),
        ({"flag": FlagKey.RELEASE, "variant": "abc"}, "Set Release to live, or the version of a release"),
        ({"name": "Dev Team"}, "Use lower-case letters, digits and dashes"),
        ({"percentage": 101}, "less than or equal to 100"),
        ({"listed": "ana"}, "Enter texts of 1 to 200 characters"),
        ({"listed": [" ana"]}, "Enter texts of 1 to 200 characters"),
        ({"listed": [str(number) for number in range(1_001)]}, "Enter at most 1,000."),
    ],
)
def test_invalid_cohort_is_refused(fields: dict[str, Any], message: str) -> None:
    flag = Flag.objects.get(key=fields.pop("flag", FlagKey.SURFACE))
    cohort = Cohort(**{"name": "dev-team", "flag": flag, "variant": "gateway", "salt": "x"} | fields)

    with pytest.raises(ValidationError) as error:
        cohort.full_clean()

    assert message in " ".join(error.value.messages)


@for_each(
    "fields, message",
    [
        ({"attribute": "trait", "values": ["pro"]}, "Name the trait."),
        ({"attribute": "client", "trait": "plan", "values": ["chat"]}, "Leave this empty"),
        ({"attribute": "client", "values": []}, "Enter at least one value."),
        ({"attribute": "client", "values": [1]}, "Enter texts of 1 to 200 characters"),
        ({"attribute": "trait", "trait": "age", "operator": "at_least", "values": ["ten"]}, "Enter one number."),
        ({"attribute": "trait", "trait": "age", "operator": "at_most", "values": ["nan"]}, "Enter one number."),
    ],
    undone=True,
)
def test_invalid_rule_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError) as error:
        CohortRule(cohort=make_cohort(), **fields).full_clean()

    assert message in " ".join(error.value.messages)


def test_percentage_out_of_range_violates_a_constraint() -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        make_cohort(percentage=120)
