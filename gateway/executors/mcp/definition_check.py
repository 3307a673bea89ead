"""Whether an op's tool is defined as approved, and which programs can be MCP servers.

The digests of approved definitions are in memory. A session compares them with what the server lists, before each call.
"""

import time
from collections.abc import Sequence

from django.conf import settings

from core.background.poller import run_in_background
from registry.catalog.connections import ConnectionConfig
from registry.imports import drift
from registry.models import Connection

CHECK_SECONDS = 60.0  # between two checks of the same connection that calls begin
_checked_at: dict[str, float] = {}


class UnknownProgram(Exception):
    """No setting allows the program."""


def find_command(name: str) -> Sequence[str]:
    """Return the command line of a program by its name in GATEWAY_MCP_COMMANDS. Raises UnknownProgram."""
    command: Sequence[str] | None = settings.GATEWAY_MCP_COMMANDS.get(name)
    if command is None:
        raise UnknownProgram
    return command


def explain_missing(config: ConnectionConfig) -> str:
    """Return what a connection lacks to run an op, in words that follow "cannot run: "; empty if nothing."""
    if not config.is_program:
        return ""
    try:
        find_command(config.command)
    except UnknownProgram:
        return f'the program "{config.command}" is not one of GATEWAY_MCP_COMMANDS'
    return ""


def check_soon(connection: str) -> None:
    """Start comparing the definitions of a connection, so that its page shows the changes and lists leave them out."""
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
