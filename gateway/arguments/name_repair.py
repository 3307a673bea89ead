"""Correct the names of arguments: other words, misspellings, objects around args, and arguments of other ops."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from core.text import english, json_pointer
from gateway.access.request_context import is_uuid
from gateway.arguments import normalise, value_repair, words
from gateway.arguments.repair_work import RepairWork
from gateway.arguments.value_repair import OCCURRENCE, ONE, SCOPE
from gateway.contracts.errors import FieldError
from gateway.contracts.validation import get_subschema
from registry.jsonschema import signatures
from registry.jsonschema.dialect import Schema

MIN_NAME_SIMILARITY = 0.78  # before a spelling is read as another: `position` must not become `description`
CONNECTIONS = "connections"  # of a new row with others
KIND = "kind"  # of an item in a list of rows of several kinds
CURSOR = "cursor"  # where the next page begins
STRATEGY, APPEND = "update_strategy", "append"  # how an update combines a text with the old one

RANGE = ("time_min", "time_max")  # a day as both ends is that whole day
_FIELD_ACTIONS = ("create", "update")  # an op of these sets fields of one row


def correct_name(work: RepairWork, error: FieldError, holder: Any, name: str, schema: Schema, *, is_top: bool) -> bool:
    """Rename an unknown argument to the one that was meant. Return whether that is certain.

    `holder` is the object that has it, `schema` the schema of that object; `is_top` if it is the args themselves.
    """
    arguments = schema.get("properties", {})
    if is_top and (unwrap(work, name) or _leave_out_own_project(work, error, name)):
        return True
    if is_top and (
        value_repair.nest_in_body(work, name)
        or _name_occurrence(work, error, name)
        or _name_range(work, error, name)
        or _connect(work, error, name)
        or _choose_option(work, error, name)
        or value_repair.identify_other_row(work, name)
    ):
        return True
    if is_top and _use_other_op(work, error, name, exact=True):
        return False
    missing = set(schema.get("required", ())) - holder.keys()
    meant = words.find_argument(name, work.op, arguments=arguments, missing=missing)
    target = meant or _find_similar_name(error, name)
    if is_top and (target is None or target in holder):
        target = _find_alias(work, name)
    if target is None and is_top and work.op.action == "update":
        target = words.find_added_text(name, work.op)
    if target is not None and words.is_opposite(name, target):
        target = None
    if target is None:
        if is_top and words.is_about_answer(name, is_write=work.op.is_write):
            return _leave_out_of_answer(work, error, name)
        work.errors_by_path[error.path] = _describe_unknown(work, error, name, arguments)
        if is_top and _is_absent_field(work, name) and _may_drop_field(work, name):
            del work.args[name]
            return True
        if is_top:
            _use_other_op(work, error, name, exact=False)
        return False
    expected = signatures.format_expected_value(arguments[target], work.op.schema)
    message = f"Unknown argument {_cut(name)}; send {target}: {expected}."
    work.errors_by_path[error.path] = replace(error, message=message, expected=target)
    if target in holder or (is_top and not _keep_old_text(work, error.path, name)):
        return False
    holder[target] = holder.pop(name)
    _add_kind_of_items(holder[target], name, arguments[target])
    return True


def _add_kind_of_items(value: Any, name: str, argument: Schema) -> None:
    """Add the kind that the sent name gives to the items of a list, such as task for {"tasks": [{"title": …}]}."""
    kind, items = english.to_snake_case(name).removesuffix("s"), argument.get("items", {})
    kinds = items.get("properties", {}).get(KIND, {}).get("enum", ()) if isinstance(items, dict) else ()
    if kind in kinds and isinstance(value, list):
        for item in value:
            if isinstance(item, dict):
                item.setdefault(KIND, kind)


def _keep_old_text(work: RepairWork, path: str, name: str) -> bool:
    """Add a note to the text that a row has. Return False if the op can only replace the text."""
    error = work.errors_by_path[path]
    is_text = error.expected == "text" or (isinstance(error.expected, str) and words.is_long_text(error.expected))
    if work.op.action != "update" or not words.is_adding(name) or not is_text:
        return True
    # The strategy is that of all texts of a call.
    is_alone = not any(map(words.is_long_text, work.args)) and work.args.get(STRATEGY) in (None, APPEND)
    if is_alone and APPEND in work.op.arguments.get(STRATEGY, {}).get("enum", ()):
        work.args[STRATEGY] = APPEND
        message = f"Unknown argument {_cut(name)}; send {error.expected} with {STRATEGY} {APPEND}."
        work.errors_by_path[path] = replace(error, message=message)
        return True
    work.errors_by_path[path] = replace(error, message=f"{error.message} It replaces the text.")
    return False


def unwrap(work: RepairWork, name: str) -> bool:
    """Take args out of an object around them, such as {"updates": {…}} or {"task": {…}}."""
    inner = work.args[name]
    if name == "op" and inner in (work.op.op, work.op.tool_name, *work.op.aliases):
        del work.args[name]  # the op again, inside args
        return True
    entity_words = (work.op.entity, *work.op.vocabulary.get_entity_words(work.op.entity))
    if isinstance(inner, list) and len(inner) == 1:
        inner = inner[0]
    is_wrapper = english.to_snake_case(name) in english.WRAPPER_NAMES.union(entity_words)
    if not isinstance(inner, dict) or not is_wrapper or inner.keys() & work.args.keys():
        return False
    if not any(each in work.op.argument_aliases or words.find_argument(each, work.op) for each in inner):
        return False
    del work.args[name]
    unwrapped = normalise.normalise_args(work.op, inner, work.help.context)
    work.args.update({key: value for key, value in unwrapped.without_defaults.items() if key not in work.args})
    message = f"Send what is in {_cut(name)} directly in args."
    work.errors_by_path[f"/{name}"] = FieldError(f"/{name}", "unknown_argument", message)
    return True


def _leave_out_own_project(work: RepairWork, error: FieldError, name: str) -> bool:
    """Leave out the project of the row that is changed, which was sent to say where the row is."""
    if name != "project_id" or not work.may_look_up() or work.help.find_project(work.args) != work.args[name]:
        return False
    del work.args[name]
    work.errors_by_path[error.path] = replace(
        error, message="Leave out project_id: the id of the row already determines the project.", expected=None
    )
    return True


def _leave_out_of_answer(work: RepairWork, error: FieldError, name: str) -> bool:
    """Leave out what only says what to answer. Return False if the answer would then have other rows."""
    is_offset = english.to_snake_case(name[:100]) in english.OFFSET_NAMES
    advice = f"for the next page, send next_cursor as {CURSOR}" if CURSOR in work.op.arguments else ""
    advice = (is_offset and advice) or "leave it out"
    work.errors_by_path[error.path] = replace(error, message=f"Unknown argument {_cut(name)}; {advice}.", expected=None)
    if is_offset:
        work.meaningful_paths.add(error.path)
        return False
    del work.args[name]
    return True


def _name_occurrence(work: RepairWork, error: FieldError, name: str) -> bool:
    """Read a time that was sent to a delete as that of the one occurrence to delete."""
    if work.op.action != "delete" or OCCURRENCE not in work.op.arguments or OCCURRENCE in work.args:
        return False
    if english.to_snake_case(name[:100]) not in english.OCCURRENCE_TIMES:
        return False
    work.args[OCCURRENCE] = work.args.pop(name)
    work.args.setdefault(SCOPE, ONE)
    message = (
        f"Unknown argument {_cut(name)}; to delete one occurrence, send {OCCURRENCE} with {SCOPE} {ONE}: "
        "its start or day."
    )
    work.errors_by_path[error.path] = replace(error, message=message, expected=OCCURRENCE)
    return True


def _name_range(work: RepairWork, error: FieldError, name: str) -> bool:
    """Read a day that was sent to an op with a range of time as the range of that day."""
    if not set(RANGE) <= work.op.arguments.keys() or work.args.keys() & set(RANGE):
        return False
    if english.to_snake_case(name[:100]) not in ("date", "day", "on", "on_date") or not isinstance(
        work.args[name], str
    ):
        return False
    for end in RANGE:
        work.args[end] = work.args[name]
    del work.args[name]
    start, end = RANGE
    message = f"Unknown argument {_cut(name)}; send the day as {start} and as {end}."
    work.errors_by_path[error.path] = replace(error, message=message, expected=None)
    return True


def _choose_option(work: RepairWork, error: FieldError, name: str) -> bool:
    """Read a switch such as {"append": true} as the one argument that has the name among its values."""
    word = english.to_snake_case(name[:100])
    holders = [each for each, argument in work.op.arguments.items() if word in argument.get("enum", ())]
    if work.args[name] is not True or len(holders) != 1 or holders[0] in work.args:
        return False
    del work.args[name]
    work.args[holders[0]] = word
    message = f"Unknown argument {_cut(name)}; send {holders[0]} {word}."
    work.errors_by_path[error.path] = replace(error, message=message, expected=holders[0])
    return True


def _connect(work: RepairWork, error: FieldError, name: str) -> bool:
    """Send the rows that a new one depends on, or blocks, as its connections."""
    word = english.to_snake_case(name[:100]).removesuffix("_ids").removesuffix("_id")
    relation = english.RELATIONS.get(word)
    members = get_subschema(work.op.schema, [CONNECTIONS, 0]).get("properties", {})
    if work.op.action != "create" or relation is None or work.op.entity not in members.get(KIND, {}).get("enum", ()):
        return False
    sent = work.args[name] if isinstance(work.args[name], list) else [work.args[name]]
    connections = work.args.get(CONNECTIONS, [])
    if not isinstance(connections, list) or not all(isinstance(each, str) for each in sent):
        return False
    del work.args[name]
    links = [{KIND: work.op.entity, "id" if is_uuid(each) else "title": each, "rel": relation} for each in sent]
    work.args[CONNECTIONS] = [*connections, *links]
    message = (
        f"Unknown argument {_cut(name)}; send {CONNECTIONS} with {KIND}, id or title, and rel {relation}: one for each."
    )
    work.errors_by_path[error.path] = replace(error, message=message, expected=CONNECTIONS)
    return True


def leave_out_rest(work: RepairWork, errors: Sequence[FieldError], *, is_corrected: bool) -> list[FieldError]:
    """Leave out the arguments that are still wrong, and return an error that says so for each.

    Empty if one of them cannot be left out. A read can go without any optional argument, a filter only if another
    argument was corrected. A write can only go without an argument that it does not know: a value that it cannot read
    says what to write.
    """
    remarks = []
    for error in errors:
        name = next(iter(json_pointer.split(error.path)), "")
        cause = work.errors_by_path.get(error.path, error)
        is_form = not work.op.is_write and words.is_about_answer(name, is_write=False)
        if not (is_corrected or is_form) or not _may_leave_out(work, name, cause):
            return []
        message = f"{cause.message} It is left out of retry_with."
        remarks.append(replace(cause, message=message, expected=None, got=None))
    for error in errors:
        work.args.pop(json_pointer.split(error.path)[0], None)
    return remarks


def _may_leave_out(work: RepairWork, name: str, cause: FieldError) -> bool:
    if not name or name in work.op.required or cause.path in work.meaningful_paths:
        return False
    if name in work.op.arguments:
        return not (work.op.is_write or name.endswith(("_id", "_ids")) or isinstance(cause.expected, list))
    if not work.op.is_write:
        return cause.expected is None
    word = english.to_snake_case(name[:100])
    is_guard = not english.GUARD_NAMES.isdisjoint((word, word.partition("_")[0]))
    return work.op.action in _FIELD_ACTIONS and not is_guard and cause.expected is None


def _use_other_op(work: RepairWork, error: FieldError, name: str, *, exact: bool) -> bool:
    """Call another op that takes these args. With `exact`, only if it has this very argument and takes them all."""
    found = work.help.find_other_op(name, work.args) if work.may_look_up() else None
    if found is None:
        return False
    path, args = found
    if exact and (args is None or args.keys() != work.args.keys()):
        return False
    work.meaningful_paths.add(error.path)
    message = f"Unknown argument {_cut(name)}; {path} takes it."
    work.errors_by_path[error.path] = replace(error, message=message, expected=None)
    work.other_call = None if args is None else {"op": path, "args": args}
    return True


def _find_alias(work: RepairWork, name: str) -> str | None:
    """Return the argument with an alias that the name contains, such as mitigation for mitigation_plan."""
    own_words = set(english.to_snake_case(name[:100]).split("_"))
    targets = {target for alias, target in work.op.argument_aliases.items() if alias in own_words} - work.args.keys()
    return targets.pop() if len(targets) == 1 else None


def _find_similar_name(error: FieldError, name: str) -> str | None:
    """Return the argument that a name misspells."""
    matches = english.find_similar(name, [error.expected] if error.expected else [], cutoff=MIN_NAME_SIMILARITY)
    return matches[0] if matches else None


def _describe_unknown(work: RepairWork, error: FieldError, name: str, arguments: dict[str, Any]) -> FieldError:
    if _is_absent_field(work, name):
        entity = work.op.entity or "row"
        article = "An" if entity[0] in "aeio" else "A"  # not a user
        return replace(error, message=f"{article} {entity} has no {_cut(name)}; {_advise(work)}.", expected=None)
    known = ", ".join(arguments) or "none"
    return replace(error, message=f"Unknown argument {_cut(name)}. The arguments are {known}.", expected=None)


def _is_absent_field(work: RepairWork, name: str) -> bool:
    """Return whether other systems have this field, but no row here.

    A write that chooses rows, such as shift, would change others without it, so there it is a name like any.
    """
    is_safe = not work.op.is_write or work.op.action in _FIELD_ACTIONS
    word = english.to_snake_case(name[:100])
    names = (
        english.ABSENT_FIELDS if work.op.is_write else english.ABSENT_FIELDS | english.USER_NAMES | english.OWN_WORDS
    )
    return is_safe and word in names and bool(work.op.entity or not work.op.is_write)


def _may_drop_field(work: RepairWork, name: str) -> bool:
    """Return whether a field that no row has can be left out: a filter only if it asks for the caller's own rows."""
    is_own_name = english.to_snake_case(name[:100]) in english.OWN_WORDS
    is_own = work.args[name] in (work.help.subject, *english.OWN_WORDS) or (is_own_name and work.args[name] is True)
    return work.op.action in _FIELD_ACTIONS or (is_own and not work.op.is_write)


def _advise(work: RepairWork) -> str:
    """Return what to do with a value that has no field. No text that a row has is lost by it."""
    text = words.find_note_text(work.op)
    if text is None or not work.op.is_write:
        return "leave it out"
    if work.op.action != "update" or text in work.args:
        return f"leave it out, or note it in {text}"
    if APPEND not in work.op.arguments.get(STRATEGY, {}).get("enum", ()):
        return f"leave it out, or send the old {text} with it added"
    # The strategy is that of all texts of a call.
    may_append = not any(map(words.is_long_text, work.args)) or work.args.get(STRATEGY) == APPEND
    return f"leave it out, or note it in {text} with {STRATEGY} {APPEND}" if may_append else "leave it out"


def _cut(name: str) -> str:
    return name if len(name) <= 60 else name[:60] + "…"
