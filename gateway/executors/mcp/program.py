"""The programs that may be started as MCP servers: only those that a setting names."""

from collections.abc import Sequence

from django.conf import settings


class UnknownProgram(Exception):
    """No setting allows the program."""


def find_command(name: str) -> Sequence[str]:
    """Return the command line of a program by its name in GATEWAY_MCP_COMMANDS. Raises UnknownProgram."""
    command: Sequence[str] | None = settings.GATEWAY_MCP_COMMANDS.get(name)
    if command is None:
        raise UnknownProgram
    return command
