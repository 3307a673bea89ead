"""Find ops that nothing can run."""

from collections.abc import Iterable
from typing import Any

from registry.catalog import connections, switches
from registry.catalog.connections import UpstreamTarget
from registry.checks.finding import CheckRule, Finding, Severity
from registry.models import Op

CANNOT_RUN = CheckRule(
    "cannot_run",
    "An active op that nothing can run: it has no connection, or its connection has no handler for its tool name and "
    "no request to send.",
    "Choose a connection that can run it, or retire the op.",
    Severity.BLOCKS,
)
RULES = (CANNOT_RUN,)


def find_unrunnable_ops(ops: Iterable[dict[str, Any]]) -> list[Finding]:
    """Return a blocking finding for each op that exec would refuse to run. Takes one query.

    Drafts may have such ops, so this is separate from `find_errors`. Models do not see ops that are retired or switched
    off. Those are not checked.
    """
    current, off = connections.refresh_connections(), switches.get_switches()
    findings = []
    for op in ops:
        connection = op.get("connection", "")
        target = UpstreamTarget(connection, op["tool_name"], op.get("upstream_name", ""), bool(op.get("request")))
        # A change upstream hides the op until it is approved. That must not stop other copy from being published.
        missing = "" if current.is_held(target) else current.explain_missing(target)
        if not missing or op.get("status", Op.Status.ACTIVE) != Op.Status.ACTIVE:
            continue
        if not off.explain_off(op["op"], aliases=op.get("aliases", ()), connection=connection):
            findings.append(CANNOT_RUN.make_finding(op["op"], "connection", f"Cannot run: {missing}."))
    return findings
