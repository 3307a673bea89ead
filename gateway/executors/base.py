"""The executor interface: how the gateway runs an op at one kind of connection."""

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from core.database.deadlines import Deadline
from core.records import record
from gateway.contracts.user_questions import GivenAnswers
from registry.catalog.connections import ConnectionConfig, UpstreamTarget
from registry.catalog.model import Catalog, CatalogOp, Visibility


class ClientSubject(NamedTuple):
    """The subject of a call: an end user of a client, or the client itself if there is no end user."""

    client_id: int
    subject: str


class CallWatcher(Protocol):
    """Follows a call while it runs. Its methods are called about once a second, by the thread that waits."""

    def show_progress(self, progress: Mapping[str, Any]) -> None:
        """Take what the upstream reports: {"done", "total", "message"}, all optional. The message is the upstream's."""

    def is_cancelled(self) -> bool:
        """Return whether the upstream should stop the call."""


@record
class UpstreamCall:
    """One call, ready to run: args are valid, the subject is vouched for, the release is fixed."""

    op: CatalogOp
    catalog: Catalog
    visibility: Visibility  # what the caller can run and read about
    args: dict[str, Any]
    subject: str
    at: datetime
    deadline: Deadline
    client_id: int = 0
    trace_id: str = ""
    idempotency_scope: str = ""  # the same for all calls that are one call to us; empty without an idempotency key
    fields: tuple[str, ...] = ()  # what the caller wants of the answer; empty for what the op answers by itself
    answers: GivenAnswers | None = None  # of the user, for a call that asked for them and goes on
    watcher: CallWatcher | None = None

    @property
    def client_subject(self) -> ClientSubject:
        """The subject of the call. Limits count for each of them separately."""
        return ClientSubject(self.client_id, self.subject)


@record
class UpstreamResponse:
    """The answer of an upstream. `entity` and `action` say what the call was about if the op itself does not.

    `changed_ids` has the ids of the rows that a write changed: empty if it changed nothing, None if only the one of
    `entity_id`. `progress` is the last progress that the upstream reported: {"done", "total"} in its own units, both
    optional. `undo` has the args of the op that takes back a write, if the caller can run that op.
    """

    result: dict[str, Any]
    warnings: tuple[str, ...] = ()
    entity_id: str | None = None
    entity_name: str | None = None
    changed_ids: tuple[str, ...] | None = None
    entity: str = ""
    action: str = ""
    progress: dict[str, float] | None = None
    has_selected_fields: bool = False  # whether the upstream knows `fields`, and answered only these
    is_table: bool = False  # whether result["text"] is CSV or the like, whose first record names the columns
    undo: Mapping[str, Any] = field(default_factory=dict)
    can_continue: bool = True  # whether the same call gives the same answer again, so that a cursor can continue it


class Executor(Protocol):
    """Runs the ops of one upstream in this process, or of all remote upstreams of a kind.

    Raises GatewayError to refuse a call, InputRequired if the upstream asks its user first; any other exception is a
    bug.

    If `transactional` is true, rolling back the surrounding transaction undoes `apply`, so that a write, its
    idempotency record and its event commit together or not at all. If it is false, `apply` raises
    UpstreamUnreachableError if the upstream has received or applied nothing, and OutcomeUnknownError if a write may
    have taken effect. If `is_remote` is true, the upstream belongs to somebody else, who decides what and how much it
    answers.
    """

    transactional: bool
    is_remote: bool

    def explain_missing(self, config: ConnectionConfig, target: UpstreamTarget) -> str:
        """Return what the connection lacks to run an op, in words that follow "cannot run: "; empty if nothing."""

    def prepare(self, work: UpstreamCall) -> Any:
        """Do what needs no transaction, such as network requests. The result is passed to `apply`."""

    def authorize(self, work: UpstreamCall, prepared: Any) -> Any:
        """Add the credentials, which may take a request for a token. A dry run skips this."""

    def apply(self, work: UpstreamCall, prepared: Any) -> UpstreamResponse:
        """Run the op. Raises GatewayError if the upstream refuses."""
