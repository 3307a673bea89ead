"""Trying an op from the admin: a dry run for any subject, answered as the API would answer it.

It goes the way of every call, through the same checks and the same handlers, and nothing of it is kept: a write is
undone, a read only reads. Its event names who tried it, since it tells what a subject sees; no figure counts it.
"""

import orjson

from core import canonical, strictjson
from gateway import execution
from gateway.callers import Caller
from gateway.envelopes import Answer, Trace
from gateway.errors import Invalid
from gateway.keys import VerifiedKey
from gateway.models import all_scopes
from registry import catalogs, checks, snapshot
from registry.catalogs import EVERYTHING, Catalog
from registry.models import Op

DRAFT = "draft"  # in place of the version of a release
SOURCE = "admin"


class NotServable(Exception):
    """The draft says something that no release could: it cannot run. Its text says what to mend."""


def draft_of(op: Op) -> Catalog:
    """Return the live catalog with an op as the draft has it. Raises NotServable, catalogs.NothingLive."""
    entry = snapshot.entry(op)
    if problems := checks.op_problems(entry):
        raise NotServable(problems[0].told)
    drafted = catalogs.op_of(orjson.loads(canonical.dumps(entry)))
    return catalogs.live().with_op(drafted, version=DRAFT)


def run(*, op: str, args: str, subject: str, by: str, catalog: Catalog, trace: Trace) -> Answer:
    """Return what a call with these args, JSON as it is typed, would be answered. Nothing of it is kept."""
    caller = _caller(subject, by, trace)
    try:
        body = {"op": op, "args": strictjson.loads(args.encode()), "dry_run": True}
    except strictjson.NotStrictJSON as error:
        refusal = Invalid(str(error).replace("The body", "args"), reason=error.code)
        return execution.refuse(refusal, name=op, caller=caller, trace=trace, catalog=catalog)
    return execution.execute(body=body, caller=caller, trace=trace, catalog=catalog)


def _caller(subject: str, by: str, trace: Trace) -> Caller:
    """Return a caller that may run everything for a subject, as a client of its own that nobody has a key of."""
    key = VerifiedKey(
        id=0,
        prefix=SOURCE,
        client_id=0,
        client=f"{SOURCE} {by}"[:100],
        scopes=frozenset(all_scopes()),
        bound_subject=subject,
        subject_pattern="*",
        visibility=EVERYTHING,
        confirms=False,
        rate=1,
        expires_at=None,
        stamp=(trace.at, trace.at),
    )
    return Caller(key, subject=subject)
