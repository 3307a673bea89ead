"""A call of a tool, ready to be sent."""

from dataclasses import dataclass, field
from typing import Any

from registry.catalog.connections import ConnectionConfig


@dataclass(frozen=True, slots=True, repr=False)  # no repr: it holds credentials, and arguments that are private
class PreparedTool:
    """A call of a tool. `headers` are those of its requests, with credentials once they were added.

    `client_id` and `subject` say in whose session it runs, unless all callers of the connection share one.
    """

    config: ConnectionConfig
    tool: str
    arguments: dict[str, Any]
    is_write: bool
    client_id: int
    subject: str
    headers: dict[str, str] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()  # in the headers, the longest first
