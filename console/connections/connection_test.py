"""Test a connection: run one of its reads, as a client would, or list the tools of its MCP server.

Errors of calls are written for models. The reader of this page can correct the connection.
"""

import re
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from django.http import HttpRequest

from gateway.access import request_context
from gateway.contracts.envelopes import Trace
from gateway.execution import dry_runs
from registry.catalog import cache
from registry.imports import mcp_import
from registry.imports.document_source import UnreadableDocument
from registry.models import Connection, Op

MAX_FIELD_ERRORS = 3
_FOR_MODELS = re.compile(r" ?(Nothing was done; [a-z ]+\.|Tell the administrator\.|Send the same call again\.)")


class ConnectionTest(NamedTuple):
    """Whether the call succeeded, and a message that says what was called and how it went."""

    ok: bool
    message: str


class ConnectionTestFailure(NamedTuple):
    """What went wrong, and what to change. Without `problem`, the message of the error says what went wrong."""

    problem: str
    change: str


# By the reason of the error. Labels in capitals are those of the page.
FAILURES: Mapping[str, ConnectionTestFailure] = {
    "cancelled": ConnectionTestFailure("The call was cancelled.", "Test again."),
    "input_required": ConnectionTestFailure("The tool asks its user for input.", "Try another op on its page."),
    "address_refused": ConnectionTestFailure(
        "The host of the base URL is unknown or not allowed.",
        "Check the Base URL. A service in your own network must be in GATEWAY_UPSTREAM_ALLOW.",
    ),
    "bad_outgoing_request": ConnectionTestFailure(
        "A header is not allowed or contains an invalid character.", "Check Headers."
    ),
    "bad_url": ConnectionTestFailure("The address of the op cannot be called.", "Check the Base URL."),
    "key_required": ConnectionTestFailure(
        "Each end user brings their own key, and this one has none.", "Try the op on its page for a user who has."
    ),
    "not_configured": ConnectionTestFailure("", "Set it under Authentication or Secrets."),
    "not_connected": ConnectionTestFailure("", "Correct the op, or this connection."),
    "sign_in_required": ConnectionTestFailure(
        "Each end user must sign in to the service, and this one has not.", "Try the op on its page for a user who has."
    ),
    "subject_required": ConnectionTestFailure(
        "The service is called for an end user, and a test has none.", "Try the op on its page, with a subject."
    ),
    "switched_off": ConnectionTestFailure(
        "It is switched off.", "Switch it on again here, or switch on the op on its page."
    ),
    "timeout": ConnectionTestFailure(
        "There was no answer within the timeout of the op.", "Check the Base URL, or raise the timeout."
    ),
    "upstream_broken": ConnectionTestFailure("", "Check that the Base URL is that of the API, not of a web page."),
    "upstream_busy": ConnectionTestFailure(
        "Too many calls are running.", "Raise Calls at a time, or test again later."
    ),
    "upstream_changed": ConnectionTestFailure(
        "The tool's definition differs from the approved one.", "Check for changes, and approve what changed."
    ),
    "upstream_circuit_open": ConnectionTestFailure(
        "Most recent calls failed. None is sent for some seconds.", "Fix what the failed calls report, then test again."
    ),
    "upstream_conflict": ConnectionTestFailure(
        "The service is in a state that refuses the call.", "Try another op on its page."
    ),
    "upstream_credentials": ConnectionTestFailure(
        "The service does not accept the credentials.",
        "Check the kind of Authentication, and enter its secret again under Secrets.",
    ),
    "upstream_denied": ConnectionTestFailure(
        "The service denies the call.", "Use credentials that allow it, or try another op on its page."
    ),
    "upstream_invalid": ConnectionTestFailure(
        "The service requires args that its document does not.", "Try the op on its page, with args."
    ),
    "upstream_needs_input": ConnectionTestFailure(
        "The tool wants something that the gateway does not pass on, such as a model's answer.",
        "Try another op on its page.",
    ),
    "upstream_not_found": ConnectionTestFailure(
        "The service has nothing at this address.", "Check the Base URL: the path of the op is added to it."
    ),
    "upstream_rate_limited": ConnectionTestFailure("The service accepts no more calls now.", "Test again later."),
    "upstream_redirects": ConnectionTestFailure(
        "The service redirects to another address, which is not followed.",
        "Set the Base URL to the address that it redirects to.",
    ),
    "upstream_refused": ConnectionTestFailure("The tool answered with an error.", "Try the op on its page, with args."),
    "upstream_status": ConnectionTestFailure("The service failed.", "Check the Base URL, and the logs of the service."),
    "upstream_timeout": ConnectionTestFailure(
        "The service did not answer in time.", "Check the Base URL, or raise the timeout of the op."
    ),
    "upstream_too_large": ConnectionTestFailure("The answer is larger than allowed.", "Raise Largest response."),
    "upstream_unavailable": ConnectionTestFailure("The service is not available now.", "Test again later."),
    "upstream_unreachable": ConnectionTestFailure("", "Check the Base URL, and that the service runs."),
    "upstream_untrusted": ConnectionTestFailure(
        "The certificate of the service is not valid for its host, or it does not speak TLS.", "Check the Base URL."
    ),
}
NO_AUTHENTICATION = ConnectionTestFailure(
    "The service denies the call.", "If it needs credentials, choose its Authentication."
)


def run_test(connection: Connection, request: HttpRequest) -> ConnectionTest:
    """Say how the upstream of a connection answers, and what to change if it does not."""
    return _list_tools(connection) if connection.kind == Connection.Kind.MCP else _run_read(connection, request)


def _list_tools(connection: Connection) -> ConnectionTest:
    """Ask the MCP server of a connection for its tools. Nothing is called."""
    started = time.monotonic()
    try:
        server = mcp_import.read_server(connection)
    except UnreadableDocument as error:
        return ConnectionTest(False, _FOR_MODELS.sub("", str(error)))
    took = f"in {(time.monotonic() - started) * 1000:.0f} ms"
    name = " ".join(filter(None, [server.title[:100] or str(connection), server.version[:40]]))
    count = len(server.listing.tools)
    tools = "1 tool" if count == 1 else f"{count:,} tools"
    imported = connection.ops.filter(status=Op.Status.ACTIVE).count()
    return ConnectionTest(True, f"{name} answered {took}: it has {tools}. {_describe_imported(imported)}")


def _describe_imported(count: int) -> str:
    if not count:
        return "None is imported yet: choose Import tools."
    return "1 is an op of this connection." if count == 1 else f"{count:,} are ops of this connection."


def _run_read(connection: Connection, request: HttpRequest) -> ConnectionTest:
    """Run the first read that needs no args, with the draft's copy. Its event is recorded as an admin's."""
    op = next((op for op in connection.ops.filter(kind=Op.Kind.READ).order_by("op") if _needs_no_args(op)), None)
    if op is None:
        return ConnectionTest(False, "None of its ops can be called without arguments. Try one on the op's page.")
    try:
        catalog = dry_runs.build_draft_catalog(op)
    except (dry_runs.DraftNotServable, cache.NoLiveRelease) as error:
        return ConnectionTest(False, f"{op} cannot run: {error}")
    trace = Trace(request_context.read_trace_id(request.META), source=dry_runs.TRIAL_SOURCE)
    answer = dry_runs.try_op(
        op=op.op, args="{}", subject="", by=request.user.get_username(), catalog=catalog, trace=trace
    )
    took = f"in {trace.elapsed_ms():.0f} ms"
    if answer.envelope["ok"]:
        return ConnectionTest(True, f"{op} answered {took}.")
    return ConnectionTest(False, f"{op} failed {took}. {explain_failure(answer.envelope['error'], connection, op)}")


def explain_failure(error: Mapping[str, Any], connection: Connection, op: Op) -> str:
    """Return what went wrong, what the service said, and what to change, for the administrator of a connection."""
    reason = error["details"]["reason"]
    failure = FAILURES.get(reason, ConnectionTestFailure("", ""))
    if reason == "upstream_denied" and connection.auth == Connection.Auth.NONE:
        failure = NO_AUTHENTICATION
    problem = failure.problem or _FOR_MODELS.sub("", str(error["message"]))
    return " ".join(filter(None, [problem, _quote_upstream(error["details"], connection, op), failure.change]))


def _quote_upstream(details: Mapping[str, Any], connection: Connection, op: Op) -> str:
    """Return the request and what the service answered; empty if there was no answer."""
    upstream = details.get("upstream")
    if upstream is None:
        return ""
    request = op.request or {}
    texts = [f"“{upstream['message']}”"] if upstream.get("message") else []
    texts += [f"{each['path']}: {each['message']}" for each in details["field_errors"][:MAX_FIELD_ERRORS]]
    address = f"{request.get('method', '')} {connection.base_url.rstrip('/')}{request.get('path', '')}".strip()
    return f"{address} was answered with status {upstream['status']}{': ' if texts else ''}{'; '.join(texts)}."


def _needs_no_args(op: Op) -> bool:
    return op.status == Op.Status.ACTIVE and not op.parameters_schema.get("required")
