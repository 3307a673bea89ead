"""What a handler takes and answers. Whoever runs the workspace builds the request and reads the outcome."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class Request:
    """One call: validated arguments with their defaults filled, on behalf of a subject, at a time.

    `prepared` is what the handler's own `prepare` returned.
    """

    subject: str
    args: dict[str, Any]
    at: datetime
    prepared: Any = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a call did: the result as JSON values, and the row that it was about, where it was about one."""

    result: dict[str, Any]
    warnings: tuple[str, ...] = ()
    entity_id: str | None = None
    entity_name: str | None = None


@dataclass(frozen=True, slots=True)
class Handler:
    """An op's two steps: `prepare` outside the transaction (it may use the network), `apply` inside it.

    Both raise a `workspace.errors.Refusal` for what the domain refuses; `apply` has changed nothing for good then.
    """

    apply: Callable[[Request], Outcome]
    prepare: Callable[[Request], Any] | None = None
