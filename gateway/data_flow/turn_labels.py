"""What the calls of a turn brought into it. The database holds it, because a turn's calls run in many processes.

A label is written once a turn, connection and process; only a call that a rule could hold for reads them.
"""

import hashlib
from collections.abc import Collection, Iterable
from datetime import datetime, timedelta

from gateway.access.request_context import Caller
from gateway.data_flow.policy import BroughtLabel
from gateway.models import TurnLabel

WITHOUT_TURN = timedelta(minutes=10)  # that calls without Gateway-Turn are one turn
REWRITE_AFTER = timedelta(seconds=30)  # until a process writes a label again, so that its time stays current
MAX_NOTED = 20_000  # labels that a process remembers to have written

_noted: dict[tuple[str, str, str], datetime] = {}


def hash_turn(caller: Caller) -> str:
    """Return the hash that identifies the turn of a call; without Gateway-Turn, its client and subject."""
    place = (caller.session, caller.turn) if caller.turn else ()
    text = "\0".join((str(caller.key.client_id), caller.subject, *place))
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def read_labels(caller: Caller, *, at: datetime) -> list[BroughtLabel]:
    """Return what earlier calls of the turn brought in. Takes one query."""
    rows = TurnLabel.objects.filter(turn=hash_turn(caller))
    if not caller.turn:
        rows = rows.filter(brought_at__gt=at - WITHOUT_TURN - REWRITE_AFTER)
    return [BroughtLabel(*row) for row in rows.values_list("label", "connection", "op", "trace_id")]


def write_labels(
    caller: Caller, labels: Collection[str], *, op: str, connection: str, trace_id: str, at: datetime
) -> None:
    """Remember what a call brings into its turn. Takes at most one query, usually none."""
    turn = hash_turn(caller)
    keys = [(turn, label, connection) for label in labels]
    if not (new := [key for key in keys if (noted := _noted.get(key)) is None or at - noted > REWRITE_AFTER]):
        return
    rows = [
        TurnLabel(turn=turn, label=key[1], connection=connection, op=op, trace_id=trace_id, brought_at=at)
        for key in new
    ]
    TurnLabel.objects.bulk_create(
        rows,
        update_conflicts=True,
        unique_fields=["turn", "label", "connection"],
        update_fields=["brought_at"],
    )
    _note(new, at)


def clear() -> None:
    """Forget what this process has written, as in a new one."""
    _noted.clear()


def _note(keys: Iterable[tuple[str, str, str]], at: datetime) -> None:
    if len(_noted) >= MAX_NOTED:
        _noted.clear()
    _noted.update(dict.fromkeys(keys, at))
