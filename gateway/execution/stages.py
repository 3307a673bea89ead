"""The stages of a call, each of which knows more than the one before: ParsedCall → PermittedCall → ValidCall → Outcome.

All are frozen. A step takes one stage and returns the next, or raises; its error is answered from the stage that was
reached.
"""

from collections.abc import Callable
from dataclasses import field
from functools import cached_property
from typing import Any

from core.database.deadlines import Deadline
from core.records import record
from gateway.access.request_context import Caller
from gateway.arguments.normalise import NormalisedArgs
from gateway.contracts.envelopes import EnvelopeResponse, Trace
from gateway.contracts.user_questions import GivenAnswers
from gateway.execution import idempotency
from gateway.execution.result_shape import WHOLE_ANSWER, ShapeRequest
from gateway.executors.base import CallWatcher, Executor, UpstreamCall
from registry.catalog.model import Catalog, CatalogOp, CatalogView


class Superseded(Exception):
    """Another run has already answered this call. Undo this run's work and discard its response."""


@record(slots=False)
class ParsedCall:
    """What was sent, by whom, under which release. Until the body is read it knows only the caller and the release.

    A body whose op is known but that is malformed gets this far, too.
    """

    caller: Caller
    trace: Trace
    catalog: Catalog
    body: dict[str, Any] = field(default_factory=dict, repr=False)
    name: str = ""  # the op as sent
    op: CatalogOp | None = None
    args: dict[str, Any] = field(default_factory=dict)  # as sent
    key: str | None = None
    dry_run: bool = False
    shape: ShapeRequest = WHOLE_ANSWER
    warnings: tuple[str, ...] = ()
    until: Deadline | None = None  # in addition to the op's own deadline
    # Stores the response, for a write in its transaction.
    store_response: Callable[[EnvelopeResponse], None] | None = None
    answers: GivenAnswers | None = None  # of the user, to what the upstream asks
    goes_on: bool = False  # the upstream asked the user before; the call was confirmed before that, if it had to be
    watcher: CallWatcher | None = None
    batch_entry: int | None = None  # the id of the entry that it is

    def evolve(self, **changes: Any) -> "ParsedCall":
        """Return the call with some fields changed, as dataclasses.replace does in ten times the time."""
        fields = self.__dict__ | changes
        fields.pop("keyed_call", None)
        call = object.__new__(ParsedCall)
        call.__dict__.update(fields)
        return call

    @property
    def view(self) -> CatalogView:
        """The catalog as this caller sees it."""
        return self.catalog.view_for(self.caller.visibility)

    @property
    def path(self) -> str:
        """The canonical path of the op; if it is unknown, the name as sent, cut at 200 characters."""
        return self.op.op if self.op else self.name[:200]

    @property
    def op_kind(self) -> str:
        """Whether the op reads or writes; empty if it is unknown."""
        return self.op.kind if self.op else ""

    @cached_property
    def keyed_call(self) -> idempotency.KeyedCall | None:
        """The call with its idempotency key; None without a key, for a dry run and for a read."""
        if self.key is None or self.dry_run or (self.op is not None and not self.op.is_write):
            return None
        return idempotency.KeyedCall(
            client_id=self.caller.key.client_id,
            subject=self.caller.subject,
            key=self.key,
            op=self.path,
            fingerprint=idempotency.compute_fingerprint(self.path, self.args),
        )


@record
class PermittedCall:
    """A call that the caller may make, and its args in canonical form, valid or not.

    `op` is what runs: the op that was asked for, or the list that runs instead of a get without its id.
    """

    call: ParsedCall
    op: CatalogOp
    executor: Executor
    normalised: NormalisedArgs

    @property
    def is_as_asked(self) -> bool:
        """Whether the op that was asked for runs."""
        return self.op is self.call.op

    @property
    def warnings(self) -> list[str]:
        """What was read otherwise than it was sent."""
        return [*self.call.warnings, *self.normalised.warnings]


@record
class ValidCall:
    """A call that is ready to run. `is_confirmed` is for one that the end user agreed to, with a token to use up."""

    permitted: PermittedCall
    work: UpstreamCall
    is_confirmed: bool = False

    @property
    def call(self) -> ParsedCall:
        """What was sent."""
        return self.permitted.call

    @property
    def executor(self) -> Executor:
        """What runs it."""
        return self.permitted.executor


@record
class Outcome:
    """The answer to a call, and whether it was handed to `store_response` already."""

    answer: EnvelopeResponse
    is_stored: bool = False


Stage = ParsedCall | PermittedCall | ValidCall
