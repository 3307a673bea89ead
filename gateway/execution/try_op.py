"""Try an op from the admin, for any subject, with the answer that the API would give.

The call runs through the same checks and handlers as any other. Reads run for real. Writes are dry runs: undone, or at
an upstream not sent, unless the caller asks for the real thing. Its event names the admin user,
because the answer shows a subject's data. Reports do not count it.
"""

from dataclasses import replace

from core.text import json_text
from gateway.clients.key_verification import VerifiedKey
from gateway.contracts.envelopes import EnvelopeResponse, Trace
from gateway.contracts.errors import InvalidRequestError
from gateway.contracts.request_schemas import MAX_RESULT_TOKENS
from gateway.execution import pipeline
from gateway.models import all_scopes
from gateway.request_context import Caller
from registry import checks
from registry.catalog import builder, cache
from registry.catalog.model import FULL_VISIBILITY, Catalog
from registry.models import Op
from registry.snapshot import snapshot

DRAFT_VERSION = "draft"  # instead of a release's version
TRIAL_SOURCE = "admin"


class DraftNotServable(Exception):
    """The draft of an op is invalid and cannot run. The message says what to fix."""


def build_draft_catalog(op: Op) -> Catalog:
    """Return the live catalog with one op replaced by its draft. Raises DraftNotServable, cache.NoLiveRelease."""
    entry = snapshot.op_to_entry(op)
    if problems := checks.find_op_errors(entry):
        raise DraftNotServable(problems[0].summary)
    draft_op = builder.build_op(json_text.load(json_text.canonicalize(entry)))
    return cache.get_live_catalog().with_op(draft_op, version=DRAFT_VERSION)


def run(
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
