"""Calls that keep nothing: replays of recorded calls on a draft, and an admin's test of an op.

Only calls that worked and whose args are stored (*Stored contents* in the console) can be replayed.

The call runs through the same checks and handlers as any other. Reads run for real. Writes are dry runs: undone, or at
an upstream not sent, unless the caller asks for the real thing. Its event names the admin user,
because the answer shows a subject's data. Reports do not count it.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from django.utils import timezone

from analytics.events import stored_contents
from analytics.events.models import OperationEvent
from analytics.events.redaction_patterns import REDACTED_MARK
from core.text import json_pointer, json_text
from gateway.access.key_verification import VerifiedKey
from gateway.access.request_context import Caller, UserContext
from gateway.arguments import normalise
from gateway.contracts.envelopes import EnvelopeResponse, Trace
from gateway.contracts.errors import InvalidRequestError
from gateway.contracts.request_schemas import MAX_RESULT_TOKENS
from gateway.contracts.validation import find_field_errors
from gateway.execution import pipeline
from gateway.models import all_scopes
from registry import checks
from registry.catalog import builder, cache
from registry.catalog.model import FULL_VISIBILITY, Catalog, CatalogOp
from registry.models import Op
from registry.releases.recorded_calls import CallProblem, OpReplay, Replay, ReplayedOp
from registry.snapshot import snapshot

MAX_OPS = 50
MAX_CALLS = 500  # of one op, the newest ones: together at most a second
MAX_EVENTS = 5  # shown for one reason
Problem = tuple[str, str]  # pointer and code
DRAFT_VERSION = "draft"  # instead of a release's version
TRIAL_SOURCE = "admin"


def replay_calls(ops: Sequence[ReplayedOp]) -> Replay:
    """Return how the recorded calls of these ops would go with the draft, for the first MAX_OPS ops that have any."""
    if not stored_contents.get_rules().days:
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
    """Return the ids and args of the newest calls that worked. Tests by admins do not count as traffic."""
    since = timezone.now() - timedelta(days=stored_contents.get_rules().days)
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
        return REDACTED_MARK in str(json_pointer.resolve(values, pointer))
    except LookupError:
        return False


class DraftNotServable(Exception):
    """The draft of an op is invalid and cannot run. The message says what to fix."""


def build_draft_catalog(op: Op) -> Catalog:
    """Return the live catalog with one op replaced by its draft, and with the words of the draft.

    Raises DraftNotServable, cache.NoLiveRelease.
    """
    entry = snapshot.op_to_entry(op)
    if problems := checks.find_op_errors(entry):
        raise DraftNotServable(problems[0].summary)
    draft_op = builder.build_op(json_text.load(json_text.canonicalize(entry)))
    words = builder.build_draft_vocabulary()
    return cache.get_live_catalog().with_op(draft_op, version=DRAFT_VERSION, vocabulary=words)


def try_op(
    *, op: str, args: str, subject: str, by: str, catalog: Catalog, trace: Trace, for_real: bool = False
) -> EnvelopeResponse:
    """Return the answer to a call. `args` is JSON as typed. No write is kept, unless it is `for_real`.

    The read of a remote service is answered whole, so that an admin sees what a model could see.
    """
    caller = build_caller(subject, by, trace)
    try:
        called = catalog.find_op(op)
        is_read = called is not None and not called.is_write
        body = {"op": op, "args": json_text.parse(args.encode()), "dry_run": not (for_real or is_read)}
        if called and called.request and is_read:
            body["max_tokens"] = MAX_RESULT_TOKENS
            catalog = catalog.with_op(replace(called, result_fields=()), version=catalog.version)
    except json_text.NotStrictJSON as error:
        refusal = InvalidRequestError(str(error).replace("The body", "args"), reason=error.code)
        return pipeline.reject_call(refusal, name=op, caller=caller, trace=trace, catalog=catalog)
    return pipeline.execute(body=body, caller=caller, trace=trace, catalog=catalog)


def build_caller(subject: str, by: str, trace: Trace) -> Caller:
    """Return a caller with all permissions for a subject. Its client exists only here and has no key."""
    key = VerifiedKey(
        id=0,
        prefix=TRIAL_SOURCE,
        client_id=0,
        client=f"{TRIAL_SOURCE} {by}"[:100],
        scopes=frozenset(all_scopes()),
        bound_subject=subject,
        subject_pattern="*",
        visibility=FULL_VISIBILITY,
        confirms=False,
        rate=1,
        expires_at=None,
        stamp=(trace.at, trace.at),
    )
    return Caller(key, subject=subject)
