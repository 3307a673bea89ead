"""Leases: a row is work that one process at a time does, and no work is lost with its process.

A process claims a row with one update that only one process can win, and has it until `held_until`. It extends the
lease while it works, and releases the row with the fields that say how it ended. If it dies, the lease ends by itself,
and the row is claimed by another process or ended for it. What is claimed, and what an end looks like, belongs to the
model. All times are the database's, so that the clocks of machines do not matter.
"""

import logging
import math
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar

from django.db import DatabaseError, connection, models
from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from core import logs
from core.database import deadlines

log = logging.getLogger(__name__)

INTERVAL = 2.0  # seconds between two extensions of the leases that this process keeps
MAX_WAIT = 2.0  # seconds that one table may delay the leases of others

# SQL for now, and for now plus a number of seconds.
SQL_TIMES = {
    "postgresql": ("STATEMENT_TIMESTAMP()", "STATEMENT_TIMESTAMP() + %s * INTERVAL '1 second'"),
    "sqlite": (
        "STRFTIME('%%Y-%%m-%%d %%H:%%M:%%f', 'NOW')",
        "STRFTIME('%%Y-%%m-%%d %%H:%%M:%%f', 'NOW', '+' || %s || ' seconds')",
    ),
}
# On PostgreSQL a concurrent claim skips the row that another one has locked; SQLite has a single writer.
_LOCK = {"postgresql": " FOR UPDATE SKIP LOCKED", "sqlite": ""}


class LeasedRow(models.Model):
    """A row that one process at a time works on. A model with a field `attempts` counts how often it was claimed."""

    holder = models.CharField(
        max_length=32, blank=True, default="", db_default="", editable=False, help_text="Who has the lease."
    )
    held_until = models.DateTimeField(
        null=True, blank=True, editable=False, help_text="Until when nobody may claim it."
    )

    class Meta:
        abstract = True


R = TypeVar("R", bound=LeasedRow)

ENDED = Q(held_until__lte=Now())  # rows whose lease has ended: if one is still in work, its process died
FREE = Q(held_until=None) | ENDED


class LeaseLost(Exception):
    """Another process has taken the row over."""


def create_holder() -> str:
    """Return a name for one lease. No two leases have the same, not even of one process."""
    return secrets.token_hex(16)


def begin(lasts: timedelta) -> dict[str, Any]:
    """Return the fields of a row that this process is about to work on, for the statement that makes it so."""
    return {"holder": create_holder(), "held_until": Now() + lasts}


def claim(rows: QuerySet[R], lasts: timedelta) -> R | None:
    """Lease the first free one of these rows, all of one table, and return it; None if there is none.

    It looks before it writes: on SQLite, a statement that may write waits for other writers, even if it finds nothing.
    """
    if not rows.filter(FREE).exists():
        return None
    choice, parameters = rows.filter(FREE).values("pk")[:1].query.sql_with_params()
    statement = build_claim_sql(rows.model, choice, vendor=connection.vendor)
    values = [create_holder(), lasts.total_seconds(), *parameters]
    return next(iter(list(rows.model._base_manager.raw(statement, values))), None)


def build_claim_sql(
    model: type[LeasedRow], choice: str, *, vendor: str, changes: str = "", returning: str = "*"
) -> str:
    """Return the statement that leases the row whose id `choice`, a SELECT of one id, finds.

    Its parameters are the holder, the seconds that the lease lasts, and those of `choice`. `changes` sets further
    columns.
    """
    table, primary_key = model._meta.db_table, model._meta.pk.column
    columns = {field.name: field.column for field in model._meta.concrete_fields}
    counting = "attempts = attempts + 1, " if "attempts" in columns else ""
    return (
        f"UPDATE {table} SET {changes}{counting}"  # noqa: S608 - no value is in the text
        f"{columns['holder']} = %s, {columns['held_until']} = {SQL_TIMES[vendor][1]}"
        f" WHERE {primary_key} = ({choice}{_LOCK[vendor]}) RETURNING {returning}"
    )


def extend(row: LeasedRow, lasts: timedelta) -> bool:
    """Let the lease end so much later than now. Return False if another process has taken the row over."""
    return bool(_query_held(row).update(held_until=Now() + lasts))


def release(row: LeasedRow, **changes: object) -> None:
    """End the lease of a row and set these fields, in one update.

    With a later `held_until`, nobody can claim the row before that. Raises LeaseLost if another process has taken it
    over: then nothing is set.
    """
    if not _query_held(row).update(**{"holder": "", "held_until": None} | changes):
        raise LeaseLost(f"{row} was taken over by another process")


def _query_held(row: LeasedRow) -> QuerySet[LeasedRow]:
    rows = type(row)._base_manager.filter(pk=row.pk, holder=row.holder)
    return rows if row.holder else rows.none()  # an object that was read after its row was released


_kept: dict[str, "_KeptLease"] = {}  # of the rows that this process works on, by holder
_thread: threading.Thread | None = None
_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class _KeptLease:
    row: LeasedRow
    lasts: timedelta
    until: float  # on the monotonic clock


@contextmanager
def keep(row: LeasedRow, lasts: timedelta, *, at_most: timedelta | None = None) -> Iterator[None]:
    """Extend the lease of a row every two seconds until the block ends, or for `at_most` if the work may hang.

    A thread does that for all rows of the process. It is a thread of its own, because others may be busy for longer
    than a lease. It ends when it finds none. Raises LeaseLost if nobody has the lease, because the row was released.
    """
    if not row.holder:
        raise LeaseLost(f"{row} was released")
    try:
        with _lock:
            until = math.inf if at_most is None else time.monotonic() + at_most.total_seconds()
            _kept[row.holder] = _KeptLease(row, lasts, until)
            _start_thread()
        yield
    finally:
        with _lock:
            _kept.pop(row.holder, None)


def _start_thread() -> None:
    global _thread
    if _thread is None or not _thread.is_alive():
        thread = threading.Thread(target=_extend_repeatedly, name="leases", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:  # too many threads: the work goes on, and the next lease tries again
            log.warning("leases.thread_not_started error=%s", error)
        else:
            _thread = thread


def count_kept(model: type[LeasedRow]) -> int:
    """Return how many rows of a model this process works on."""
    with _lock:
        return sum(isinstance(kept.row, model) for kept in _kept.values())


def extend_kept() -> None:
    """Extend all leases that this process keeps, with one statement for each model and length, the shortest first."""
    with _lock:
        kept = list(_kept.values())
    groups: dict[tuple[type[LeasedRow], timedelta], list[LeasedRow]] = {}
    for each in kept:
        if time.monotonic() < each.until:
            groups.setdefault((type(each.row), each.lasts), []).append(each.row)
    for (model, lasts), rows in sorted(groups.items(), key=lambda group: group[0][1]):
        try:
            _extend_rows(model, rows, lasts)
        except Exception as error:  # the next try may come before the leases end
            log.warning("leases.not_extended leases=%d\n%s", len(rows), logs.format_safely(error))


def _extend_rows(model: type[LeasedRow], rows: list[LeasedRow], lasts: timedelta) -> None:
    held = model._base_manager.filter(pk__in=[row.pk for row in rows], holder__in=[row.holder for row in rows])
    with deadlines.limit_waits(time.monotonic() + MAX_WAIT):
        held.update(held_until=Now() + lasts)


def _extend_repeatedly() -> None:
    global _thread
    while True:
        time.sleep(INTERVAL)
        with _lock:
            if not _kept:
                _thread = None
                return
        extend_kept()
        with suppress(DatabaseError):
            connection.close()
