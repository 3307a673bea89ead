"""One session: a fresh workspace, the messages of a task as turns of the chat, and the result."""

import asyncio
import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from benchmarks.surfaces import environment, workspaces
from benchmarks.surfaces.adversary import MARKUP, TYPED_ANSWERS, Habit
from benchmarks.surfaces.checks import SessionOutcome, find_problems
from benchmarks.surfaces.evaluation_tasks import EvaluationTask
from benchmarks.surfaces.plan import SURFACES
from benchmarks.surfaces.relative_dates import RelativeDates
from benchmarks.surfaces.workspaces import Snapshot, WorkspaceTemplate
from chat.connections import give_back_connection
from chat.conversations.start_turn import UserDecision, start_turn
from chat.events.turn_log import TurnLog
from chat.gateway import envelopes
from chat.models import Message, ToolCall
from chat.turns import repair, turn_runner
from core import logs

log = logging.getLogger(__name__)

MAX_DECISIONS = 6  # in a session
WAIT_SECONDS = 30.0

Status = ToolCall.Status


@dataclass(slots=True)
class SessionResult:
    """What a session did and cost. It did its task if there are no problems."""

    task: str
    surface: str
    repeat: int
    problems: list[str] = field(default_factory=list)
    rounds: int = 0
    calls: int = 0
    repairs: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    dollars: float = 0.0  # by the prices of the evaluation
    seconds: float = 0.0
    turns: list[dict[str, Any]] = field(default_factory=list)
    habit: str = ""  # of the stand-in that misbehaves

    @property
    def is_success(self) -> bool:
        """Whether everything that the task names is true."""
        return not self.problems


class SessionRunner:
    """Runs sessions through the chat's own turns."""

    def __init__(self, template: WorkspaceTemplate) -> None:
        self._template = template

    def run(self, task: EvaluationTask, surface: str, repeat: int, habit: str = "") -> SessionResult:
        """Run a task once on a surface, in a separate workspace."""
        result = SessionResult(task.name, surface, repeat, habit=habit)
        try:
            self._run(task, result)
        except Exception as error:  # the other sessions are worth money, so they go on
            log.error("evaluation.session_failed\n%s", logs.format_safely(error))
            result.problems.append(f"The session could not be run: {type(error).__name__}")
        finally:
            give_back_connection()
        return result

    def _run(self, task: EvaluationTask, result: SessionResult) -> None:
        subject = f"{environment.get_subject_prefix(result.surface)}{task.name}.{result.habit}.{result.repeat}".replace(
            " ", "_"
        )
        dates = environment.get_dates()
        self._template.copy_for(subject, today=dates.today)
        before = workspaces.take_snapshot(subject)
        session = _Session(task, subject, dates, result)
        session.run(_find_place(task.place, before))
        session.check_rows(before, workspaces.take_snapshot(subject))
        workspaces.delete_workspace(subject)


class _Session:
    """A conversation about one task."""

    def __init__(self, task: EvaluationTask, subject: str, dates: RelativeDates, result: SessionResult) -> None:
        self._task, self._subject, self._dates, self._result = task, subject, dates, result
        self._session_id: str | None = None
        self._answers: list[str] = []
        self._errors: list[str] = []
        self._asked_to_confirm = False

    def run(self, place: dict[str, str]) -> None:
        """Send the messages, and answer when the chat asks the user to agree."""
        for number, message in enumerate(self._task.messages):
            turn = self._run_turn(self._dates.fill_placeholders(message), place if number == 0 else None)
            for _ in range(MAX_DECISIONS):
                # A call of an earlier turn no longer waits.
                call = turn.calls.filter(status=Status.CONFIRM).order_by("position").first()
                if call is None:
                    break
                if self._result.habit == Habit.TYPED_ANSWERS and not self._asked_to_confirm:
                    turn = self._run_turn(TYPED_ANSWERS[self._task.confirm], None)
                else:
                    turn = self._run_turn("", None, UserDecision(str(call.pk), self._task.confirm == "approve"))
                self._asked_to_confirm = True
            if self._errors:
                return

    def check_rows(self, before: Snapshot, after: Snapshot) -> None:
        """Add what is wrong with the rows and the answers to the result."""
        changes = workspaces.compare_snapshots(before, after)
        outcome = SessionOutcome(before, after, changes, self._answers, self._asked_to_confirm, self._errors)
        self._result.problems += find_problems(self._task, outcome, self._dates)

    def _run_turn(self, message: str, place: dict[str, str] | None, *decisions: UserDecision) -> Message:
        new = start_turn(
            subject=self._subject,
            message=message,
            session_id=self._session_id,
            context=place,
            decisions=decisions,
            at=datetime.now(UTC),
        )
        self._session_id = str(new.conversation.pk)
        started = time.perf_counter()
        turn_log = turn_runner.run_in_thread(new, environment.get_credentials(self._subject))
        asyncio.run(_wait_for_end(turn_log))
        seconds = time.perf_counter() - started
        turn = Message.objects.get(pk=new.turn.pk)
        self._add_turn(turn, message, seconds)
        return turn

    def _add_turn(self, turn: Message, message: str, seconds: float) -> None:
        result, calls = self._result, list(turn.calls.all())
        result.seconds += seconds
        result.rounds += turn.usage.get("answers", 0)
        result.calls += len(calls)
        result.repairs += count_repairs(calls)
        result.input_tokens += turn.usage.get("input", 0)
        result.output_tokens += turn.usage.get("output", 0)
        result.turns.append(
            {
                "message": message,
                "answer": turn.text,
                "finish": turn.finish,
                "seconds": round(seconds, 3),
                "calls": [{"tool": each.name, "op": each.op, "status": each.status} for each in calls],
            }
        )
        self._answers.append(turn.text)
        if any(markup in turn.text for markup in MARKUP):
            self._errors.append("Its answer shows markup.")
        if turn.finish in (Message.Finish.ERROR, Message.Finish.INTERRUPTED):
            self._errors.append((turn.error or {}).get("message", turn.finish))
        elif turn.surface != SURFACES[result.surface][0]:
            self._errors.append(f"It was served on the surface {turn.surface}.")


def count_repairs(calls: list[ToolCall]) -> int:
    """Return how many failures of a turn the model was asked to repair: one for each op and error."""
    failures = set()
    for call in calls:
        for envelope in envelopes.iter_envelopes(call.envelope or {}):
            if repair.is_repairable(envelope) and envelopes.get_reason(envelope) != "not_run":
                failures.add(repair.build_repair_key(str(envelope.get("op") or call.name), envelope))
    return len(failures)


async def _wait_for_end(turn_log: TurnLog) -> None:
    while not turn_log.is_closed:
        await turn_log.wait_for_more(len(turn_log.get_after(0)), seconds=WAIT_SECONDS)


def _find_place(place: Mapping[str, str], rows: Snapshot) -> dict[str, str]:
    """Return the context of a conversation at the place that a task names by titles."""
    if "project" in place:
        return {"type": place["type"], "project_id": _find_row(rows, "project", place["project"]).id}
    if "task" in place:
        task = _find_row(rows, "task", place["task"])
        return {"type": place["type"], "project_id": task.fields["project"], "entity_id": task.id}
    return dict(place)


def _find_row(rows: Snapshot, kind: str, title: str) -> workspaces.SnapshotRow:
    return next(row for row in rows.values() if (row.kind, row.title) == (kind, title))
