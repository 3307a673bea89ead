"""What every executor has: the code that reaches a kind of connection."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, Protocol, TypeVar

from core.deadlines import Deadline
from registry.catalogs import Catalog, CatalogOp

Prepared = TypeVar("Prepared")


@dataclass(frozen=True, slots=True)
class Work:
    """One valid call, ready to run: args validated, subject vouched for, under one release."""

    op: CatalogOp
    catalog: Catalog
    args: dict[str, Any]
    subject: str
    at: datetime
    deadline: Deadline


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an upstream answered."""

    result: dict[str, Any]
    warnings: tuple[str, ...] = ()
    entity_id: str | None = None
    entity_name: str | None = None


def _nothing(work: Work) -> Any:
    """Prepare nothing."""


@dataclass(frozen=True, slots=True)
class Handler(Generic[Prepared]):
    """An op that the gateway runs itself, in the two steps of an executor. Refusals are raised as GatewayError."""

    apply: Callable[[Work, Prepared], Outcome]
    prepare: Callable[[Work], Prepared] = _nothing


class Executor(Protocol):
    """Runs ops of one kind of connection. Refusals are raised as GatewayError; anything else is a bug.

    `transactional` says that what `apply` does is undone when the transaction around it rolls back: such a write, its
    idempotency record and its event then commit together or not at all. Where it is not, `apply` raises NotSent while
    the upstream has seen nothing, and InDoubt where a write may have taken effect (gateway/remote.py).
    """

    transactional: bool

    def prepare(self, work: Work) -> Any:
        """Do what needs no transaction, such as asking the network. Its result is given to `apply`."""

    def apply(self, work: Work, prepared: Any) -> Outcome:
        """Run the op. Raises GatewayError where the upstream refuses."""
