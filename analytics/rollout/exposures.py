"""Who was exposed to what: written once for each subject, variant and cohort, when it first happens."""

import threading
from collections import OrderedDict
from collections.abc import Iterable
from datetime import datetime

from analytics.rollout.evaluation import Outcome
from analytics.rollout.models import Assignment

REMEMBERED = 50_000  # exposures of this process that need not be written again

_Key = tuple[str, str, str, str]
_written: OrderedDict[_Key, None] = OrderedDict()
_lock = threading.Lock()


def record(outcomes: Iterable[Outcome], *, subject: str, at: datetime) -> None:
    """Write down what a subject was exposed to, where that is new. At most one statement; nobody unknown is kept."""
    if not subject:
        return
    keys = [(str(each.flag), subject, each.variant, each.cohort) for each in outcomes]
    fresh = [key for key in keys if key not in _written]
    if not fresh:
        return
    rows = [Assignment(flag=flag, subject=who, variant=said, cohort=name, time=at) for flag, who, said, name in fresh]
    Assignment.objects.bulk_create(rows, ignore_conflicts=True)
    with _lock:
        _written.update(dict.fromkeys(fresh))
        while len(_written) > REMEMBERED:
            _written.popitem(last=False)


def forget() -> None:
    """Drop what is in memory, as a new process would begin."""
    with _lock:
        _written.clear()
