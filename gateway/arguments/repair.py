"""Repair an invalid call, so that the model needs no further call of help.

A repair is proposed, never run. It is certain, or it is left to the model with the candidates.
"""

import copy
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, time, timedelta
from typing import Any

from core import json_pointer, suggestions
from gateway.arguments import coercion, dates, normalise, synonyms, values
from gateway.contracts.errors import ArgsCorrection, FieldError
from gateway.contracts.validation import find_field_errors, get_subschema, is_title
from gateway.request_context import UserContext, is_uuid
from registry.catalog.model import CatalogOp
from registry.jsonschema import signatures

MIN_NAME_SIMILARITY = 0.78  # before one spelling is taken for another: `position` must not become `description`
MAX_CALL_CHARACTERS = 4_000  # of a retry_with; a longer one costs more tokens than it saves
CURRENT_PROJECT = "expected_project_id"  # of ops that move a row: where it is now
STRATEGY, APPEND = "update_strategy", "append"  # how an update combines a text with the old one
MAX_LOOKUPS = 6  # of rows and of other ops, for one call
MAX_ROUNDS = 4  # a renamed argument may have a wrong value, which may be in the wrong type

# What a title means for an id argument: (id or None, the error to report).
FindId = Callable[[str, str, dict[str, Any]], tuple[str | None, FieldError] | None]
# The id of the project that the row of these args is in.
FindProject = Callable[[dict[str, Any]], str | None]
# The kind of the row with an id.
FindKind = Callable[[Any], str | None]
# The day of a date that the row of these args has.
FindDate = Callable[[str, dict[str, Any]], date | None]
# The other op that takes an unknown argument: (name, args) -> the op's path and, if it takes all args, its args.
FindOtherOp = Callable[[str, dict[str, Any]], tuple[str, dict[str, Any] | None] | None]
# What breaks a rule of the upstream in args that match the schema, and how to correct all of it, if that is certain.
FindRuleErrors = Callable[[dict[str, Any]], tuple[list[FieldError], ArgsCorrection | None]]

# What models wrap args in.
_WRAPPERS = frozenset(
    (
        *("args", "arguments", "input", "inputs", "params", "parameters", "payload", "data", "body", "fields"),
        *("properties", "attributes", "updates", "update", "changes", "values", "patch", "item", "object"),
        *("entity", "request"),
    )
)

_NULL_WORDS = frozenset(("none", "null", "nil", "n/a", "-", "nothing", "undefined", "no date", "no due date"))


@dataclass(frozen=True, slots=True)
class RepairHelp:
    """What a repair can look up beside the op and its args."""

    context: UserContext
    now: Callable[[], datetime]
    find_id: FindId
    find_project: FindProject
    find_kind: FindKind
    find_date: FindDate
    find_other_op: FindOtherOp
    find_rule_errors: FindRuleErrors


@dataclass(slots=True)
class CallRepair:
    """The corrected call, if every error has one certain correction, and the errors in words that say what to send."""

    call: dict[str, Any] | None
    errors: list[FieldError]


def repair_call(op: CatalogOp, args: dict[str, Any], errors: Sequence[FieldError], help: RepairHelp) -> CallRepair:
    """Return the corrected call, as far as it is certain, and all errors.

    Corrected are: names and values in other words or other letters, dates in words, numbers and booleans in quotes, a
    single value instead of a list and the reverse, null for an optional argument, a title where an id belongs, and the
    malformed id of the project that the user looks at. If the args are those of another op, that op is called.
    """
    # What another correction fills in was not missing: the model sent it under another name.
    first_paths = [error.path for error in errors if error.code != "required"] or [error.path for error in errors]
    work = _Work(op, copy.deepcopy(args), help, frozenset(first_paths))
    for _ in range(MAX_ROUNDS):
        if not errors or not work.correct_all(errors):
            break
        complete = copy.deepcopy(work.args)
        coercion.fill_defaults(op.schema, complete)
        errors = find_field_errors(op.validator, complete)
    call = work.other_call
    if call is None and not errors and not normalise.is_empty_update(op, work.args):
        call = {"op": op.op, "args": work.args}
    rule_errors = list[FieldError]()
    if work.other_call is None:
        wrong = {parts[0] for error in errors if (parts := json_pointer.split(error.path))}
        rule_errors, correction = help.find_rule_errors(
            {name: value for name, value in work.args.items() if name not in wrong}
        )
        rule_errors = [error for error in rule_errors if error.code.removeprefix("no_") not in wrong]
        if call is not None and rule_errors:
            corrected = correction.apply(work.args) if correction else None
            call = None if corrected is None else {"op": op.op, "args": corrected}
    if call is None or drop_if_too_long(call) is None:
        return CallRepair(None, [*work.list_causes(), *rule_errors])
    shortened = [_shorten(error) for error in work.errors if error.path in work.first_paths]
    return CallRepair(call, [*shortened, *rule_errors])


def drop_if_too_long(call: dict[str, Any]) -> dict[str, Any] | None:
    """Return the call if it is small enough for retry_with, else None."""
    return call if len(json.dumps(call, ensure_ascii=False)) <= MAX_CALL_CHARACTERS else None


@dataclass(slots=True)
class _Work:
    """A repair under way."""

    op: CatalogOp
    args: dict[str, Any]
    help: RepairHelp
    first_paths: frozenset[str]  # of what was wrong in the args as sent
    other_call: dict[str, Any] | None = None
    lookups_left: int = MAX_LOOKUPS
    _errors: dict[str, FieldError] = field(default_factory=dict)  # by path; the first error of a value is its cause

    @property
    def errors(self) -> list[FieldError]:
        return list(self._errors.values())

    def list_causes(self) -> list[FieldError]:
        """Return the errors without those inside a value that is wrong as a whole, and that a correction caused."""
        return [
            error
            for error in self.errors
            if not any(path and error.path.startswith(f"{path}/") for path in self._errors)
        ]

    def correct_all(self, errors: Sequence[FieldError]) -> bool:
        """Correct what is certain, and keep all errors. Return whether anything was corrected."""
        corrected = [self._correct(error) for error in errors]
        return any(corrected)

    def _correct(self, error: FieldError) -> bool:
        self._errors.setdefault(error.path, error)
        path = _find_path(self.args, error.path)
        if not path:
            return False
        holder: Any = self.args
        for part in path[:-1]:
            holder = holder[part]
        key, schema = path[-1], get_subschema(self.op.schema, path[:-1])
        if error.code == "required":
            return len(path) == 1 and self._add_missing(str(key))
        if isinstance(holder, dict) and key not in holder:
            return False  # another correction has moved it
        if error.code == "unknown_argument":
            return self._correct_name(error, holder, str(key), schema, is_top=len(path) == 1)
        argument = get_subschema(self.op.schema, path)
        if holder[key] is None and isinstance(key, str) and key not in schema.get("required", ()):
            del holder[key]  # strict tool modes send null for omitted arguments
            return True
        if _says_nothing(holder[key]) and "null" in argument.get("type", ()):
            holder[key] = None
            return True
        if isinstance(holder[key], dict) and str(key).endswith("_id"):
            _take_kind(holder, str(key), schema)
        name = next(part for part in reversed(path) if isinstance(part, str))  # of the list, for an item of one
        if self._correct_value(error, holder, key, argument, name):
            return True
        return error.code == "format" and argument.get("format") == "uuid" and self._identify(error, holder, key, name)

    def _correct_value(
        self, error: FieldError, holder: Any, key: str | int, argument: dict[str, Any], name: str
    ) -> bool:
        if argument.get("format") in dates.DATE_FORMATS and dates.is_time_of_day(holder[key]):
            return self._add_day(error, holder, key, argument["format"])
        corrected = values.clamp_limit(name, argument, holder[key]) if error.code == "maximum" else None
        if corrected is None:
            corrected = values.correct_value(name, argument, holder[key], now=self.help.now, entity=self.op.entity)
        if corrected is None or corrected == holder[key]:
            return False
        holder[key] = corrected
        return True

    def _add_day(self, error: FieldError, holder: Any, key: str | int, format: str) -> bool:
        """Add the day to a time that was sent without one: that of the start, of the row, or else the next one."""
        now = self.help.now()
        day, reason = self._find_day(str(key), holder)
        found = dates.find_date(holder[key], format, now=dates.get_midnight(day or now))
        if found and day is None and self.op.is_write and dates.is_past(found, now):
            reason = "tomorrow, because that time is past today"
            found = dates.find_date(holder[key], format, now=dates.get_midnight(now + timedelta(days=1)))
        if found is None:
            return False
        holder[key] = found
        self._errors[error.path] = replace(error, message=f"{key} has no day; send {found}, {reason}.", expected=None)
        return True

    def _find_day(self, name: str, holder: Any) -> tuple[datetime | None, str]:
        """Return a moment of the day that a time means, and how that is known; None if nothing tells the day."""
        zone = self.help.now().tzinfo
        for other in ("start_at", "occurrence_start"):
            if other != name and isinstance(holder, dict) and (day := dates.read_day(holder.get(other))):
                return datetime.combine(day, time.min, zone), f"on the day of {other}"
        day = self.help.find_date(name, self.args) if self._may_look_up() else None
        return (datetime.combine(day, time.min, zone), "on the day that it has") if day else (None, "today")

    def _correct_name(self, error: FieldError, holder: Any, name: str, schema: dict[str, Any], *, is_top: bool) -> bool:
        arguments = schema.get("properties", {})
        if is_top and (self._unwrap(name, arguments) or self._leave_out_own_project(error, name)):
            return True
        if is_top and self._use_other_op(error, name, exact=True):
            return False
        missing = set(schema.get("required", ())) - holder.keys()
        meant = synonyms.find_argument(name, arguments, entity=self.op.entity, missing=missing)
        target = meant or _find_similar_name(error, name)
        if is_top and (target is None or target in holder):
            target = self._find_alias(name)
        if target is None:
            self._errors[error.path] = _describe_unknown(error, name, arguments)
            if is_top:
                self._use_other_op(error, name, exact=False)
            return False
        expected = signatures.format_expected_value(arguments[target], self.op.schema)
        message = f"There is no {_cut(name)}; send {target}: {expected}."
        self._errors[error.path] = replace(error, message=message, expected=target)
        if target in holder or (is_top and not self._keep_old_text(error.path, name)):
            return False
        holder[target] = holder.pop(name)
        return True

    def _keep_old_text(self, path: str, name: str) -> bool:
        """Add a note to the text that a row has. Return False if the op can only replace the text."""
        if self.op.action != "update" or suggestions.to_snake_case(name) not in synonyms.ADDING_NAMES:
            return True
        # The strategy is that of all texts of a call.
        is_alone = synonyms.LONG_TEXTS.isdisjoint(self.args) and self.args.get(STRATEGY) in (None, APPEND)
        if is_alone and APPEND in self.op.arguments.get(STRATEGY, {}).get("enum", ()):
            self.args[STRATEGY] = APPEND
            return True
        self._errors[path] = replace(self._errors[path], message=f"{self._errors[path].message} It replaces the text.")
        return False

    def _unwrap(self, name: str, arguments: dict[str, Any]) -> bool:
        """Take args out of an object around them, such as {"updates": {…}} or {"task": {…}}."""
        inner = self.args[name]
        if name == "op" and inner in (self.op.op, self.op.tool_name, *self.op.aliases):
            del self.args[name]  # the op again, inside args
            return True
        spelling = suggestions.to_snake_case(name)
        is_wrapper = spelling in _WRAPPERS or spelling in (
            self.op.entity,
            *synonyms.ENTITY_WORDS.get(self.op.entity, ()),
        )
        if not isinstance(inner, dict) or not is_wrapper or inner.keys() & self.args.keys():
            return False
        if not any(
            each in self.op.argument_aliases or synonyms.find_argument(each, arguments, entity=self.op.entity)
            for each in inner
        ):
            return False
        del self.args[name]
        unwrapped = normalise.normalise_args(self.op, inner, self.help.context)
        self.args.update({key: value for key, value in unwrapped.without_defaults.items() if key not in self.args})
        message = f"Send what is in {_cut(name)} directly in args."
        self._errors[f"/{name}"] = FieldError(f"/{name}", "unknown_argument", message)
        return True

    def _leave_out_own_project(self, error: FieldError, name: str) -> bool:
        """Leave out the project of the row that is changed, which was sent to say where the row is."""
        if name != "project_id" or not self._may_look_up() or self.help.find_project(self.args) != self.args[name]:
            return False
        del self.args[name]
        self._errors[error.path] = replace(
            error, message="Leave out project_id: the id of the row says its project.", expected=None
        )
        return True

    def _nest(self, name: str) -> bool:
        """Put args into the one object that is missing and has them all, such as {"project": {…}}."""
        argument = get_subschema(self.op.schema, [name])
        members = argument.get("properties", {})
        loose = [each for each in self.args if each not in self.op.arguments]
        if not loose or not members or not all(each in members for each in loose):
            return False
        self.args[name] = {each: self.args.pop(each) for each in loose}
        return True

    def _use_other_op(self, error: FieldError, name: str, *, exact: bool) -> bool:
        """Call another op that takes these args. With `exact`, only if it has this very argument and takes them all."""
        found = self.help.find_other_op(name, self.args) if self._may_look_up() else None
        if found is None:
            return False
        path, args = found
        if exact and (args is None or args.keys() != self.args.keys()):
            return False
        message = f"There is no {_cut(name)} here; {path} takes it."
        self._errors[error.path] = replace(error, message=message, expected=None)
        self.other_call = None if args is None else {"op": path, "args": args}
        return True

    def _find_alias(self, name: str) -> str | None:
        """Return the argument of which the name has an alias in it, such as mitigation_plan of mitigation."""
        words = set(suggestions.to_snake_case(name[:100]).split("_"))
        targets = {target for alias, target in self.op.argument_aliases.items() if alias in words} - self.args.keys()
        return targets.pop() if len(targets) == 1 else None

    def _may_look_up(self) -> bool:
        """Return whether one more lookup is allowed, and count it."""
        self.lookups_left -= 1
        return self.lookups_left >= 0

    def _identify(self, error: FieldError, holder: Any, key: str | int, name: str) -> bool:
        """Replace a title by the id of its row. `name` is that of the argument, or of the list that the title is in."""
        if name == "project_id" and is_uuid(self.help.context.project_id):
            holder[key] = self.help.context.project_id
            return True
        if not is_title(holder[key]) or not self._may_look_up():
            return False
        is_item = isinstance(key, int)
        found = self.help.find_id(
            name.removesuffix("s") if is_item else name, holder[key], self.args if is_item else holder
        )
        if found is None:
            return False
        id, id_error = found
        self._errors[error.path] = replace(id_error, path=error.path)
        if id is not None:
            holder[key] = id
        return id is not None

    def _add_missing(self, name: str) -> bool:
        if name == CURRENT_PROJECT and (project := self.help.find_project(self.args)):
            self.args[name] = project
            return True
        return self._add_kind(name) or self._identify_by_title(name) or self._nest(name)

    def _add_kind(self, name: str) -> bool:
        """Add the missing kind of a row whose id was sent, such as src_kind beside src_id."""
        stem = name.removesuffix("_kind")
        if stem == name or f"{stem}_id" not in self.args or not self._may_look_up():
            return False
        kind = self.help.find_kind(self.args[f"{stem}_id"])
        if kind not in self.op.arguments[name].get("enum", ()):
            return False
        self.args[name] = kind
        return True

    def _identify_by_title(self, name: str) -> bool:
        """Find a missing id by the title that was sent, if it is the title of a row: it says which row is meant."""
        label = next((each for each in ("title", "name") if isinstance(self.args.get(each), str)), None)
        if label is None or name != f"{self.op.entity}_id" or not self._may_look_up():
            return False
        found = self.help.find_id(name, self.args[label], self.args)
        if found is None or found[0] is None:
            return False
        self.args[name] = found[0]
        del self.args[label]
        return True


def _find_path(value: Any, pointer: str) -> list[str | int]:
    """Return the keys and indexes of a JSON pointer. Empty if nothing can be there, as for a pointer that was cut."""
    path: list[str | int] = []
    *holders, last = json_pointer.split(pointer) or [""]
    for part in holders:
        path.append(int(part) if isinstance(value, list) and part.isdecimal() else part)
        try:
            value = value[path[-1]]
        except (KeyError, IndexError, TypeError):
            return []
    if isinstance(value, list):
        return [*path, int(last)] if last.isdecimal() and int(last) < len(value) else []
    return [*path, last] if isinstance(value, dict) and pointer else []


def _says_nothing(value: Any) -> bool:
    return isinstance(value, str) and value.strip().lower() in _NULL_WORDS


def _take_kind(holder: dict[str, Any], name: str, schema: dict[str, Any]) -> None:
    """Send the kind of a row as its own argument, if it stands beside the id: {"from": {"kind": …, "id": …}}."""
    kind_name = f"{name.removesuffix('_id')}_kind"
    kind = next((holder[name][each] for each in ("kind", "type", "entity") if each in holder[name]), None)
    if isinstance(kind, str) and kind_name in schema.get("properties", {}):
        holder.setdefault(kind_name, kind)


def _find_similar_name(error: FieldError, name: str) -> str | None:
    """Return the argument of which a name is a misspelling."""
    matches = suggestions.find_similar(name, [error.expected] if error.expected else [], cutoff=MIN_NAME_SIMILARITY)
    return matches[0] if matches else None


def _shorten(error: FieldError) -> FieldError:
    """Return an error without what retry_with shows."""
    message = error.message
    if error.code == "unknown_argument" and error.expected:
        message = f"{message.partition(': ')[0]}."
    if error.code == "title":
        message = message.replace("send the id", "retry_with has the id")
    return replace(error, message=message, expected=None, got=None)


def _describe_unknown(error: FieldError, name: str, arguments: dict[str, Any]) -> FieldError:
    known = ", ".join(arguments) or "none"
    return replace(error, message=f"There is no {_cut(name)}. The arguments are {known}.", expected=None)


def _cut(name: str) -> str:
    return name if len(name) <= 60 else name[:60] + "…"
