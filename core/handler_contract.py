"""The contract of handlers in this process: what they receive, return and raise, and what they can look up.

An app with handlers imports this module and nothing from the gateway. The gateway builds the requests, reads the
outcomes and turns refusals into errors of the API. Messages of refusals name arguments but never repeat the values
sent: a value may be a secret.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, tzinfo
from typing import Any, Generic, TypeVar

from core.database.deadlines import Deadline

UNCHANGED = "unchanged"  # warning of a write that changed nothing


@dataclass(frozen=True, slots=True)
class ArgumentError:
    """An error in one argument. `path` is a JSON pointer (RFC 6901) into args; `message` says what to send instead.

    If one correction is certain, `swap` names two arguments whose values are swapped, `leave_out` the
    argument to send the call without, or `send` has the arguments to send with it.
    """

    path: str
    code: str
    message: str
    expected: Any = None
    got: Any = None
    swap: tuple[str, str] | None = None
    leave_out: str | None = None
    send: Mapping[str, Any] | None = None


class OpRefusal(Exception):
    """Base class of all errors that handlers raise on purpose.

    `reason` names the case in snake_case. `message` is a sentence that the caller can act on. `details` are JSON values
    for programs.
    """

    reason = "refused"

    def __init__(
        self,
        message: str,
        *,
        reason: str = "",
        field_errors: Sequence[ArgumentError] = (),
        details: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.reason = reason or type(self).reason
        self.field_errors = list(field_errors)
        self.details = dict(details or {})


class NotFound(OpRefusal):
    """The row does not exist, or the subject cannot see it. The message must not reveal which."""

    reason = "not_found"


class Forbidden(OpRefusal):
    """The subject can see the row but is not allowed to do this with it."""

    reason = "forbidden"


class StateConflict(OpRefusal):
    """The call does not fit the current state, for example because the row changed after it was read."""

    reason = "conflict"


class InvalidArgs(OpRefusal):
    """The args match the schema but are still invalid; `field_errors` lists every problem."""

    reason = "invalid_args"


class NotSetUp(OpRefusal):
    """The upstream cannot run the op until an administrator sets something up. Nothing was done."""

    reason = "not_configured"


class Unavailable(OpRefusal):
    """The upstream cannot run the op at the moment. Nothing was done, so the same call can be sent again."""

    reason = "upstream_unreachable"


class TookTooLong(OpRefusal):
    """The upstream stopped the op, because it took too long."""

    reason = "upstream_timeout"


def build_invalid_args(field_errors: Sequence[ArgumentError]) -> InvalidArgs:
    """Return the exception for these field errors. Its message is the first error's, with a count of the others."""
    other_count = len(field_errors) - 1
    message = field_errors[0].message
    return InvalidArgs(
        f"{message} ({other_count} more in field_errors.)" if other_count else message, field_errors=field_errors
    )


@dataclass(frozen=True, slots=True)
class OpRequest:
    """One call on behalf of a subject. The args are validated and have their defaults filled in.

    `at` is the time of the call, `deadline` the end of the time that it may take. `prepared` is the return value of the
    handler's own `prepare`.
    """

    subject: str
    args: dict[str, Any]
    at: datetime
    deadline: Deadline
    prepared: Any = None


@dataclass(frozen=True, slots=True)
class OpOutcome:
    """What a call did: the result as JSON values and, if the call concerned one row, its id and name.

    `changed_ids` has the ids of the rows that a write changed: empty if it changed nothing, None if only the one row.
    `entity` and `action` say what the call was about if the op itself does not: the kind of a row that only its id
    named, or that a create asked a question instead. `undo` has the args of the call of the upstream's `undo_tool` that
    takes back this write.
    """

    result: dict[str, Any]
    warnings: tuple[str, ...] = ()
    entity_id: str | None = None
    entity_name: str | None = None
    changed_ids: tuple[str, ...] | None = None
    entity: str = ""
    action: str = ""
    undo: Mapping[str, Any] = field(default_factory=dict)


Request = TypeVar("Request", bound=OpRequest)


@dataclass(frozen=True, slots=True)
class OpHandler(Generic[Request]):
    """An op's two steps: `prepare` outside the transaction (it may use the network), `apply` inside it.

    Both raise an OpRefusal to refuse the call. The transaction then rolls back. With `takes_fields`, the handler
    answers only the fields that `args["fields"]` names. Otherwise the gateway selects them by their paths.
    """

    apply: Callable[[Request], OpOutcome]
    prepare: Callable[[Request], Any] | None = None
    takes_fields: bool = False


@dataclass(frozen=True, slots=True)
class FoundRow:
    """A row that a caller could have meant by a title. `place` is the name of its project, if it has one.

    `has_words` says that all words that were sent are in its title, though it is another one.
    """

    id: str
    title: str
    place: str = ""
    has_words: bool = False


@dataclass(frozen=True, slots=True)
class Lookups:
    """What an upstream can look up for a subject, so that an error can say what to send instead.

    `find_rows` takes an entity such as task, a title, the subject and the project to prefer (or an empty text). It
    returns the rows with exactly this title, or else a few that have its words, or else a few with a similar title; the
    second value says whether it is exactly this one.
    `find_project` takes an entity, an id and the subject, and returns the id of the project that the row is in.
    `find_title` takes the same and returns the title of the row.
    `find_kind` takes an id and the subject, and returns the entity of the row.
    `find_date` takes an entity, an id, the name of a date and the subject, and returns that date, or the date-time in
    the subject's zone.
    `check_args` takes a tool name, those of its args that match the schema, and the subject, and returns the errors
    that are visible in the args alone, such as an end before a start.
    """

    find_rows: Callable[[str, str, str, str], tuple[Sequence[FoundRow], bool]]
    get_time_zone: Callable[[str], tzinfo]
    find_project: Callable[[str, str, str], str | None]
    find_title: Callable[[str, str, str], str | None]
    find_kind: Callable[[str, str], str | None]
    find_date: Callable[[str, str, str, str], date | None]
    check_args: Callable[[str, dict[str, Any], str], Sequence[ArgumentError]]


@dataclass(frozen=True, slots=True)
class EmbeddedUpstream:
    """An upstream in this process: the name of its connection, its handlers by tool name, and what it can look up.

    `undo_tool` is the tool that takes back one write, with the args that the outcome of the write has for it.

    If `transactional` is true, rolling back our transaction undoes what a handler did, so that a write, its idempotency
    record and its event commit together or not at all. If it is false, for example because a handler writes files,
    writes run like those of a remote upstream: a dry run ends after `prepare`, which refuses what `apply` would refuse,
    and a key is claimed before the write.
    """

    name: str
    handlers: Mapping[str, OpHandler[Any]]
    lookups: Lookups | None = None
    transactional: bool = True
    undo_tool: str = ""
