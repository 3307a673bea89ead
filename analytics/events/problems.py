"""What went wrong in a call: its first field error, or else the reason of its error. Counted for lists of events."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.db.models import BooleanField, F, Func, Q, QuerySet, Value

from analytics.events.models import OperationEvent

MAX_COUNTED = 5_000  # newest failed events, so that a list of millions opens at once
MAX_CAUSES = 10
ROOT_LABEL = "the args"  # the pointer of an error of the args as a whole is empty
SEPARATOR = "|"
FIELD_ERROR_PARAMETER = "field_error"  # query parameter of the list of events
# Codes of field errors that read as jargon.
FIELD_CODE_WORDS = {
    "enum": "not an allowed value",
    "format": "wrong format",
    "type": "wrong type",
    "required": "missing",
    "minimum": "too small",
    "maximum": "too large",
    "min_length": "too short",
    "max_length": "too long",
    "min_items": "too few items",
    "max_items": "too many items",
}


class Problem(NamedTuple):
    """The case of an error: its code and reason, and for a field error its pointer and code."""

    code: str
    reason: str
    pointer: str = ""
    field_code: str = ""

    @property
    def text(self) -> str:
        """The problem in a few words: "due_at: wrong format", or "not found"."""
        if self.field_code:
            return describe_field_error(self.pointer, self.field_code)
        return (self.reason or self.code.lower()).replace("_", " ")

    @property
    def key(self) -> str:
        """The problem as a query parameter."""
        return SEPARATOR.join(self)

    @property
    def condition(self) -> Q:
        """The condition for failed events with this problem."""
        failed = Q(ok=False, code=self.code, reason=self.reason)
        if not self.field_code:
            return failed & Q(field_errors=[])
        return failed & Q(field_errors__0__0=self.pointer, field_errors__0__1=self.field_code)


@dataclass(frozen=True, slots=True)
class Cause:
    """A problem and how many of the counted events have it."""

    problem: Problem
    times: int
    share: float  # of the counted events, 0 to 1


@dataclass(frozen=True, slots=True)
class Causes:
    """The most frequent problems of the newest failed events. `is_limited`: there are older ones."""

    counted: int
    is_limited: bool
    most_frequent: Sequence[Cause]
    other_times: int  # events with any other problem


@dataclass(frozen=True, slots=True)
class EventFieldError:
    """A field error: where in the args, and its code. A call may have several."""

    pointer: str
    code: str

    @property
    def text(self) -> str:
        """The field error in words."""
        return describe_field_error(self.pointer, self.code)

    @property
    def key(self) -> str:
        """The field error as a query parameter."""
        return f"{self.pointer}{SEPARATOR}{self.code}"

    @property
    def condition(self) -> Q:
        """The condition for events that have it, besides others or alone."""
        return Q(_HasFieldError(F("field_errors"), Value(self.pointer), Value(self.code)))

    @classmethod
    def parse(cls, key: str) -> "EventFieldError | None":
        """Return the field error of a query parameter; None if it is not valid. A pointer may contain the separator."""
        pointer, separator, code = key.rpartition(SEPARATOR)
        return cls(pointer, code) if separator and code else None


class _HasFieldError(Func):
    """SQL condition: whether a JSON list of pairs contains a pair of texts."""

    arity = 3
    output_field = BooleanField()
    template = "EXISTS (SELECT 1 FROM %(rows)s WHERE %(first)s = %(pointer)s AND %(second)s = %(code)s)"

    def as_sqlite(self, compiler: Any, connection: Any, **_: Any) -> Any:
        return self._compile(compiler, "JSON_EACH({})", "JSON_EXTRACT(value, '$[{}]')")

    def as_postgresql(self, compiler: Any, connection: Any, **_: Any) -> Any:
        return self._compile(compiler, "JSONB_ARRAY_ELEMENTS({}) AS pair", "pair->>{}")

    def _compile(self, compiler: Any, rows: str, item: str) -> Any:
        (column, _), (pointer, first), (code, second) = map(compiler.compile, self.source_expressions)
        sql = self.template % {
            "rows": rows.format(column),
            "first": item.format(0),
            "pointer": pointer,
            "second": item.format(1),
            "code": code,
        }
        return sql, [*first, *second]


def describe_field_error(pointer: str, code: str) -> str:
    """Return a field error in words, such as "state_key: not an allowed value"."""
    return f"{describe_pointer(pointer)}: {describe_field_code(code)}"


def describe_pointer(pointer: str) -> str:
    """Return where in the args a field error is: "state_key", "tasks/0/title"."""
    return pointer.lstrip("/") or ROOT_LABEL


def describe_field_code(code: str) -> str:
    """Return the code of a field error in words."""
    return FIELD_CODE_WORDS.get(code, code.replace("_", " "))


def get_problem(code: str, reason: str, field_errors: Sequence[Any]) -> Problem:
    """Return the problem of a failed event."""
    pointer, field_code = field_errors[0] if field_errors else ("", "")
    return Problem(code, reason, str(pointer), str(field_code))


def parse_key(key: str) -> Problem | None:
    """Return the problem of a query parameter; None if it is not valid. A pointer may contain the separator."""
    if key.count(SEPARATOR) < len(Problem._fields) - 1:
        return None
    code, reason, rest = key.split(SEPARATOR, 2)
    pointer, _, field_code = rest.rpartition(SEPARATOR)
    return Problem(code, reason, pointer, field_code)


def describe_problem(event: OperationEvent) -> str:
    """Return what went wrong, and how many more field errors there are; "" for a call that succeeded."""
    if event.ok:
        return "no result" if event.type == OperationEvent.Type.SEARCH and event.result_count == 0 else ""
    text = get_problem(event.code, event.reason, event.field_errors).text
    more = len(event.field_errors) - 1
    return f"{text} +{more}" if more > 0 else text


def count_causes(events: QuerySet[OperationEvent]) -> Causes:
    """Return the most frequent problems among the newest failed events of a query."""
    rows = events.filter(ok=False).order_by("-time", "-id").values_list("code", "reason", "field_errors")
    problems = [get_problem(*row) for row in rows[: MAX_COUNTED + 1]]
    counted = problems[:MAX_COUNTED]
    ranked = sorted(Counter(counted).items(), key=lambda each: (-each[1], each[0]))
    most_frequent = [Cause(problem, times, times / len(counted)) for problem, times in ranked[:MAX_CAUSES]]
    others = sum(times for _, times in ranked[MAX_CAUSES:])
    return Causes(len(counted), len(problems) > MAX_COUNTED, most_frequent, others)
