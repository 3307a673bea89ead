"""Whether the tool of an op is defined as it was approved.

The digests of approved definitions are in memory. A session compares them with what the server lists, before each call.
"""

import time

from core.background.poller import run_in_background
from gateway.executors.mcp import program
from registry.catalog.connections import ConnectionConfig
from registry.imports import drift
from registry.models import Connection

CHECK_SECONDS = 60.0  # between two checks of the same connection that calls begin

_checked_at: dict[str, float] = {}


def explain_missing(config: ConnectionConfig) -> str:
    """Return what a connection lacks to run an op, in words that follow "cannot run: "; empty if nothing."""
    if not config.is_program:
        return ""
    try:
        program.find_command(config.command)
    except program.UnknownProgram:
        return f'the program "{config.command}" is not one of GATEWAY_MCP_COMMANDS'
    return ""


def check_soon(connection: str) -> None:
    """Have the definitions of a connection compared, so that its page shows what changed and lists leave it out."""
    now = time.monotonic()
    if now - _checked_at.get(connection, -CHECK_SECONDS) < CHECK_SECONDS:
        return
    _checked_at[connection] = now
    run_in_background("drift", lambda: _check(connection))


def _check(name: str) -> None:
    row = Connection.objects.filter(name=name).first()
    if row is not None:
        drift.check_connection(row.pk)


def clear() -> None:
    """Forget when connections were checked, as in a new process."""
    _checked_at.clear()
