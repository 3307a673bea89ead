"""A repair under way: the call, what was wrong with it, and what may be looked up for it."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Any

from core.text import json_pointer
from gateway.access.request_context import UserContext
from gateway.contracts.errors import ArgsCorrection, FieldError
from registry.catalog.model import CatalogOp

CURRENT_PROJECT = "expected_project_id"  # of ops that move a row: where it is now
MAX_LOOKUPS = 6  # of rows and of other ops, for one call

# What a title means for an id argument: (id or None, the error to report).
FindId = Callable[[str, str, dict[str, Any]], tuple[str | None, FieldError] | None]
# The id of the project that the row of these args is in.
FindProject = Callable[[dict[str, Any]], str | None]
# The kind of the row with an id.
FindKind = Callable[[Any], str | None]
# The date or date-time that the row of these args has, in the subject's zone.
FindDate = Callable[[str, dict[str, Any]], date | None]
# The other op that takes an unknown argument: (name, args) -> the op's path and, if it takes all args, its args.
FindOtherOp = Callable[[str, dict[str, Any]], tuple[str, dict[str, Any] | None] | None]
# What breaks a rule of the upstream in args that match the schema, and how to correct all of it, if that is certain.
FindRuleErrors = Callable[[dict[str, Any]], tuple[list[FieldError], ArgsCorrection | None]]


@dataclass(frozen=True, slots=True)
class RepairHelp:
    """What a repair can look up besides the op and its args."""

    context: UserContext
    subject: str
    now: Callable[[], datetime]
    find_id: FindId
    find_project: FindProject
    find_kind: FindKind
    find_date: FindDate
    find_other_op: FindOtherOp
    find_rule_errors: FindRuleErrors


@dataclass(slots=True)
class RepairWork:
    """The call as corrected so far, and its errors in words that say what to send."""

    op: CatalogOp
    args: dict[str, Any]
    help: RepairHelp
    first_paths: frozenset[str]  # of what was wrong in the args as sent
    labels: Mapping[str, Any] = field(default_factory=dict)  # args for people only, such as the title of the row
    other_call: dict[str, Any] | None = None
    lookups_left: int = MAX_LOOKUPS
    corrected_paths: set[str] = field(default_factory=set)  # of values whose correction is certain
    meaningful_paths: set[str] = field(default_factory=set)  # of unknown arguments that a call cannot go without
    errors_by_path: dict[str, FieldError] = field(default_factory=dict)  # the first error of a value is its cause

    @property
    def errors(self) -> list[FieldError]:
        return list(self.errors_by_path.values())

    def list_causes(self) -> list[FieldError]:
        """Return the errors without those inside a value that is wrong as a whole, and that a correction caused."""
        return [
            error
            for error in self.errors
            if not any(path and error.path.startswith(f"{path}/") for path in self.errors_by_path)
        ]

    def list_causes_with_corrections(self, still_wrong: Collection[str]) -> list[FieldError]:
        """Return the causes, with the value to send as `expected` where that is certain."""
        certain = self.corrected_paths.difference(still_wrong)
        return [self._add_correction(error) if error.path in certain else error for error in self.list_causes()]

    def _add_correction(self, error: FieldError) -> FieldError:
        try:
            value = json_pointer.resolve(self.args, error.path)
        except LookupError:
            return error  # it was renamed since
        is_list_given = isinstance(error.expected, list)
        return error if is_list_given or not _may_tell(error, value) else replace(error, expected=value, got=None)

    def may_look_up(self) -> bool:
        """Return whether one more lookup is allowed, and count it."""
        self.lookups_left -= 1
        return self.lookups_left >= 0


def _may_tell(error: FieldError, value: Any) -> bool:
    """Whether an error may have a value: a number, or a text that the schema gives or that is a date.

    Other texts are the sender's own, and errors repeat none.
    """
    return isinstance(value, int | float) or (isinstance(value, str) and error.code in ("enum", "format"))
