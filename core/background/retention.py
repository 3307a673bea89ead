"""Retention: rows that periodic jobs delete once they have expired."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import QuerySet

log = logging.getLogger(__name__)

BATCH_SIZE = 1_000  # rows that are deleted at once; takes some tens of milliseconds
NO_TIME = timedelta(0)


@dataclass(frozen=True, slots=True)
class Expiring:
    """Rows that expire at the time in a column or, with `keep`, once they are older than that by the column.

    A function is called each time: settings may differ.
    """

    rows: QuerySet[Any]
    column: str
    keep: timedelta | Callable[[], timedelta] = NO_TIME

    def find(self, at: datetime) -> QuerySet[Any]:
        """Return the expired rows, oldest first."""
        keep = self.keep() if callable(self.keep) else self.keep
        return self.rows.filter(**{f"{self.column}__{'lt' if keep else 'lte'}": at - keep}).order_by(self.column)

    def delete(self, at: datetime) -> bool:
        """Delete the oldest 1,000 expired rows. Return whether more may be left."""
        return delete_first(self.find(at))


class Retention:
    """A periodic job that deletes expired rows. `about` says which; it stands in the reference of jobs."""

    def __init__(self, about: str, *expiring: Expiring) -> None:
        self.__doc__ = about
        self._expiring = expiring

    def __call__(self, at: datetime) -> bool:
        """Delete what has expired. Return whether more may be left."""
        is_more_left = [each.delete(at) for each in self._expiring]
        return any(is_more_left)


def delete_first(rows: QuerySet[Any]) -> bool:
    """Delete the first 1,000 of these rows, with what belongs to them. Return whether more may be left."""
    ids = list(rows.values_list("pk", flat=True)[:BATCH_SIZE])
    # Filter again: an expired idempotency key may have been claimed again since.
    deleted = rows.order_by().filter(pk__in=ids).delete()[0] if ids else 0
    if deleted:
        log.info("retention.deleted rows=%d model=%s", deleted, rows.model._meta.label)
    return len(ids) == BATCH_SIZE
