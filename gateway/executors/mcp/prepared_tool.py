"""A call of a tool, ready to be sent."""

from dataclasses import dataclass, field
from typing import Any

from gateway.executors.remote.secret_redaction import NO_SECRETS, Redactor
from registry.catalog.connections import ConnectionConfig


@dataclass(frozen=True, slots=True, repr=False)  # no repr: it holds credentials, and arguments that are private
class PreparedTool:
    """A call of a tool. `headers` are those of its requests, with credentials once they were added."""

    config: ConnectionConfig
    tool: str
    arguments: dict[str, Any]
    is_write: bool
    headers: dict[str, str] = field(default_factory=dict)
    redactor: Redactor = NO_SECRETS  # removes the credentials in the headers from answers
