"""Calls at programs that wait for the user while they run.

Such a call waits in the process that started the program. Its question is answered minutes later, by another thread and
perhaps in another process. That process seals the answer with the id of the call into the row of the question. This one
takes it from there, and leaves the outcome in the same way.
"""

import secrets
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

from core import encryption
from core.background.poller import run_in_background
from core.database.connections import return_connection_after
from core.database.deadlines import Deadline
from core.text import json_text
from gateway.contracts.user_questions import UserAnswer
from gateway.models import PendingInput
from gateway.models.pending_input import digest_secret

if TYPE_CHECKING:  # the SDK takes most of a second, which every command of manage.py would wait
    from gateway.executors.mcp.running_calls import RunningCall

POLL_SECONDS = 0.2  # between two looks for the outcome
_waiting: dict[str, "RunningCall"] = {}  # by their ids
_lock = threading.Lock()


class CallEnded(Exception):
    """The call no longer waits: its program has ended, or the time for the answer is over."""


def keep(running: "RunningCall") -> str:
    """Keep a call that waits for its user, until it ends. Return its id, which only who answers it may learn."""
    id = secrets.token_urlsafe(24)
    with _lock:
        _waiting[id] = running
    running.future.add_done_callback(lambda _: take(id))
    return id


def take(id: str) -> "RunningCall | None":
    """Return a call that waits in this process, and no longer keep it; None if it is elsewhere, or has ended."""
    with _lock:
        return _waiting.pop(id, None)


def relay_answers(id: str, answers: Mapping[str, UserAnswer], deadline: Deadline) -> dict[str, Any]:
    """Answer a call that waits in another process, and return its outcome, as `RunningCall.describe_outcome` has it.

    Raises CallEnded if no process takes the answer, TimeoutError if the call does not end in time.
    """
    rows = PendingInput.objects.filter(waiting_call=digest_secret(id))
    given = {name: asdict(each) for name, each in answers.items()}
    told = {"answers": given, "milliseconds": deadline.get_remaining_ms()}
    if not rows.update(answer=_seal(told, id), outcome=""):
        raise CallEnded
    while time.monotonic() < deadline.at:
        time.sleep(POLL_SECONDS)
        with return_connection_after():
            row = rows.only("answer", "outcome").first()
        if row is None:
            break  # it has expired meanwhile
        if row.outcome:
            return _unseal(row.outcome, id)
    if rows.filter(outcome="").exclude(answer="").update(answer=""):
        raise CallEnded  # nobody took it
    raise TimeoutError


def deliver_when_due() -> None:
    """Take the answers that other processes have left for calls that wait in this one."""
    with _lock:
        ids = {digest_secret(id): id for id in _waiting}
    if not ids:
        return
    rows = PendingInput.objects.filter(waiting_call__in=ids).exclude(answer="")
    for row in rows.only("waiting_call", "answer"):
        id = ids[row.waiting_call]
        taken = PendingInput.objects.filter(pk=row.pk, answer=row.answer).update(answer="")
        if taken and (running := take(id)) is not None:
            run_in_background("answer", partial(_finish, running, id, _unseal(row.answer, id)))


def _finish(running: "RunningCall", id: str, told: dict[str, Any]) -> None:
    """Go on with a call, and store how it ended."""
    running.answer({name: UserAnswer(**each) for name, each in told["answers"].items()})
    running.wait(Deadline.after(milliseconds=told["milliseconds"]), None)
    outcome = running.describe_outcome()
    if running.call.is_waiting:
        outcome["waiting_call"] = keep(running)
    PendingInput.objects.filter(waiting_call=digest_secret(id)).update(outcome=_seal(outcome, id))


def _seal(content: dict[str, Any], id: str) -> str:
    return encryption.seal(json_text.dump(content).decode(), id)


def _unseal(sealed: str, id: str) -> dict[str, Any]:
    content: dict[str, Any] = json_text.load(encryption.unseal(sealed, id))
    return content
