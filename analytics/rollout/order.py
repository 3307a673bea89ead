"""The order in which the cohorts of a flag are evaluated."""

from collections.abc import Sequence

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import F, Max

from analytics.rollout.models import Cohort, Flag


def check_complete(flag: Flag, cohort_ids: Sequence[int]) -> None:
    """Raise ValidationError if these are not all cohorts of the flag, each once."""
    if sorted(cohort_ids) != sorted(Cohort.objects.filter(flag=flag).values_list("pk", flat=True)):
        raise ValidationError("A cohort was added or deleted meanwhile. Reload the page and order them again.")


def set_order(flag: Flag, cohort_ids: Sequence[int]) -> None:
    """Evaluate the cohorts of a flag in this order. Raises ValidationError if these are not all of its cohorts."""
    with transaction.atomic():
        Flag.objects.select_for_update().get(pk=flag.pk)  # nobody can add a cohort meanwhile
        check_complete(flag, cohort_ids)
        cohorts = Cohort.objects.filter(flag=flag)
        if list(cohorts.order_by("position").values_list("pk", flat=True)) == list(cohort_ids):
            return
        # Positions are unique at all times, so make room below the new ones first.
        last = cohorts.aggregate(last=Max("position"))["last"]
        cohorts.update(position=F("position") + last + 1)
        for position, cohort_id in enumerate(cohort_ids):
            cohorts.filter(pk=cohort_id).update(position=position)
