"""The types that handlers receive and return. The gateway builds the request and reads the outcome."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class OpRequest:
    """One call on behalf of a subject. The args are validated and have their defaults filled in.

    `at` is the time of the call. `prepared` is the return value of the handler's own `prepare`.
    """

    subject: str
    args: dict[str, Any]
    at: datetime
    prepared: Any = None


@dataclass(frozen=True, slots=True)
class OpOutcome:
    """What a call did: the result as JSON values and, if the call concerned one row, its id and name."""

    result: dict[str, Any]
    warnings: tuple[str, ...] = ()
    entity_id: str | None = None
    entity_name: str | None = None


@dataclass(frozen=True, slots=True)
class OpHandler:
    """An op's two steps: `prepare` outside the transaction (it may use the network), `apply` inside it.

    Both raise an error of `workspace.errors` when the workspace refuses the call. The transaction then rolls back.
    """

    apply: Callable[[OpRequest], OpOutcome]
    prepare: Callable[[OpRequest], Any] | None = None
