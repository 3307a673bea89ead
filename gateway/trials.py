"""Try an op from the admin: a dry run for any subject, with the answer that the API would give.

The call runs through the same checks and handlers as any other, and a write is undone. Its event names the admin user,
because the answer shows a subject's data. Reports do not count it.
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

DRAFT = "draft"  # instead of a release's version
SOURCE = "admin"


class NotServable(Exception):
    """The draft of an op is invalid and cannot run. The message says what to fix."""


def draft_of(op: Op) -> Catalog:
    """Return the live catalog with one op replaced by its draft. Raises NotServable, catalogs.NothingLive."""
    entry = snapshot.entry(op)
    if problems := checks.op_problems(entry):
        raise NotServable(problems[0].told)
    drafted = catalogs.op_of(orjson.loads(canonical.dumps(entry)))
    return catalogs.live().with_op(drafted, version=DRAFT)


def run(*, op: str, args: str, subject: str, by: str, catalog: Catalog, trace: Trace) -> Answer:
    """Return the answer to a dry run. `args` is JSON as typed. No write is kept."""
    caller = _caller(subject, by, trace)
    try:
        body = {"op": op, "args": strictjson.loads(args.encode()), "dry_run": True}
    except strictjson.NotStrictJSON as error:
        refusal = Invalid(str(error).replace("The body", "args"), reason=error.code)
        return execution.refuse(refusal, name=op, caller=caller, trace=trace, catalog=catalog)
    return execution.execute(body=body, caller=caller, trace=trace, catalog=catalog)


def _caller(subject: str, by: str, trace: Trace) -> Caller:
    """Return a caller with all permissions for a subject. Its client exists only here and has no key."""
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
