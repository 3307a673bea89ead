"""Replay recorded calls on a draft: read and validate their args as exec does, and run nothing.

Only calls that worked and whose args are stored (GATEWAY_CONTENT_DAYS) can be replayed.
"""

from collections import defaultdict
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.utils import timezone

from analytics.models import OperationEvent
from core.text import json_pointer
from gateway.arguments import normalise
from gateway.contracts.validation import find_field_errors
from gateway.recording.redaction import REDACTED
from gateway.request_context import UserContext
from registry.catalog import builder
from registry.catalog.model import CatalogOp
from registry.releases.recorded_calls import CallProblem, OpReplay, Replay, ReplayedOp

MAX_OPS = 50
MAX_CALLS = 500  # of one op, the newest ones: together at most a second
MAX_EVENTS = 5  # shown for one reason

Problem = tuple[str, str]  # pointer and code


def replay_calls(ops: Sequence[ReplayedOp]) -> Replay:
    """Return how the recorded calls of these ops would go with the draft, for the first MAX_OPS ops that have any."""
    if not settings.GATEWAY_CONTENT_DAYS:
        return Replay(is_stored=False)
    replays: list[OpReplay] = []
    for each in ops:
        if len(replays) == MAX_OPS:
            break
        if (replay := _replay_op(each)).calls:
            replays.append(replay)
    return Replay(is_stored=True, ops=tuple(sorted(replays, key=lambda op: (-op.failing, op.op))))


def _replay_op(op: ReplayedOp) -> OpReplay:
    live, draft = builder.build_op(op.live), builder.build_op(op.draft) if op.draft else None
    calls = failing = 0
    events: defaultdict[Problem, list[int]] = defaultdict(list)
    for event, args in _find_calls(live.op):
        if _find_problems(live, args):
            continue  # what the user was looking at filled in the rest, or the release has changed since
        calls += 1
        problems = _find_draft_problems(draft, args)
        failing += bool(problems)
        for problem in problems:
            events[problem].append(event)
    found = sorted(events.items(), key=lambda item: (-len(item[1]), item[0]))
    problems_of_op = tuple(CallProblem(*problem, len(ids), tuple(ids[:MAX_EVENTS])) for problem, ids in found)
    return OpReplay(live.op, calls, failing, problems_of_op)


def _find_calls(op: str) -> list[tuple[int, dict[str, Any]]]:
    """Return the ids and args of the newest calls that worked. Calls that admins tried are no traffic."""
    since = timezone.now() - timedelta(days=settings.GATEWAY_CONTENT_DAYS)
    events = OperationEvent.objects.filter(
        type=OperationEvent.Type.EXEC, op=op, ok=True, time__gte=since, content__args__isnull=False
    ).exclude(source=OperationEvent.Source.ADMIN)
    return list(events.order_by("-time").values_list("pk", "content__args")[:MAX_CALLS])


def _find_draft_problems(op: CatalogOp | None, args: dict[str, Any]) -> list[Problem]:
    if op is None:
        return [("", "removed")]
    return _find_problems(op, args) if op.is_active else [("", "retired")]


def _find_problems(op: CatalogOp, args: dict[str, Any]) -> list[Problem]:
    """Return what is wrong with args. Nothing is said of a value that was redacted."""
    values = normalise.normalise_args(op, args, UserContext()).args
    errors = find_field_errors(op.validator, values)
    problems = [(error.path, error.code) for error in errors if not _is_redacted(values, error.path)]
    return problems or ([("", "no_change")] if normalise.is_empty_update(op, values) else [])


def _is_redacted(values: dict[str, Any], pointer: str) -> bool:
    try:
        return bool(json_pointer.resolve(values, pointer) == REDACTED)
    except LookupError:
        return False
