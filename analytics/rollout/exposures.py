"""Who was exposed to what: written once for each subject, variant and cohort, in the background, when it first happens.

An answer does not wait for its exposure, nor fail with it.
"""

from collections.abc import Iterable
from datetime import datetime

from analytics.rollout.evaluation import Outcome
from analytics.rollout.models import Assignment
from analytics.rollout.noted import Noted

_Key = tuple[str, ...]  # flag, subject, variant, cohort


def record(outcomes: Iterable[Outcome], *, subject: str, at: datetime) -> None:
    """Have written down within half a second what a subject was exposed to, where that is new; nobody unknown is."""
    for each in outcomes if subject else ():
        _noted.put((str(each.flag), subject, each.variant, each.cohort), at, at)


def follow() -> None:
    """Write down what this process noted. One statement, none where that was nothing."""
    _noted.follow()


def forget() -> None:
    """Drop what is in memory, as a new process would begin."""
    _noted.forget()


def _write(noted: dict[_Key, datetime]) -> None:
    rows = [
        Assignment(flag=flag, subject=subject, variant=variant, cohort=cohort, time=at)
        for (flag, subject, variant, cohort), at in noted.items()
    ]
    Assignment.objects.bulk_create(rows, ignore_conflicts=True, batch_size=500)


_noted: Noted[_Key, datetime] = Noted(_write)
