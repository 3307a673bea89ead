"""Correct the values of arguments, and add those that are missing: dates, ids by title, kinds by id."""

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from typing import Any

from dateutil.relativedelta import relativedelta

from core.text import english
from gateway.access.request_context import is_uuid
from gateway.arguments import dates, row_ids, values, words
from gateway.arguments.repair_work import CURRENT_PROJECT, RepairWork
from gateway.contracts.errors import FieldError
from gateway.contracts.validation import get_subschema, is_title
from registry.jsonschema.dialect import Schema

OCCURRENCE, SCOPE = "occurrence_start", "scope"  # which occurrence of a recurring row is meant
ONE, LATER, ALL = "this", "following", "all"  # only that one, all later ones as well, or all; all is the default
STATE, FILTERING_ACTIONS = "state_key", ("list", "search", "shift")  # by state, an op of these chooses rows
_ROW_NAME_ENDING = re.compile(r"_(?:id|title|name)\Z")
_TITLE_ENDING = re.compile(r"_(?:title|name)\Z")
REQUEST_BODY = "body"  # the argument that imported ops have for a body that is sent as a whole
LABEL = "temp_id"  # of a row that a call creates; other arguments of the call use it as its name


def correct_value(
    work: RepairWork, error: FieldError, holder: Any, key: str | int, argument: Schema, name: str
) -> bool:
    """Replace a value by the one that was meant. Return whether that is certain."""
    if argument.get("format") in dates.TIME_FORMATS and dates.is_time_of_day(holder[key]):
        return _add_day(work, error, holder, key, argument["format"])
    if argument.get("format") in dates.DATE_FORMATS and (offset := dates.read_offset(holder[key])):
        return _move_date(work, error, holder, key, argument["format"], offset)
    if argument.get("format") in dates.MOMENT_FORMATS and _keep_time(work, error, holder, key, argument["format"]):
        return True
    if name == STATE and work.op.action in FILTERING_ACTIONS:
        options = [option for option in argument.get("enum", ()) if isinstance(option, str)]
        sent = holder[key]
        is_one_of_several = isinstance(holder, list) and len(holder) > 1
        states = [] if is_one_of_several and words.means_option(sent, options) else words.find_states(sent, options)
        if isinstance(sent, list) and len(sent) > 1 and "array" not in argument.get("type", ()):
            states = [option for option in options if option in sent]
        if states:
            return _choose_states(work, error, holder, key, states)
    corrected = values.clamp_limit(name, argument, holder[key]) if error.code == "maximum" else None
    if corrected is None:
        corrected = values.correct_value(name, argument, holder[key], op=work.op, now=work.help.now)
    if corrected is None or corrected == holder[key]:
        return False
    holder[key] = corrected
    return True


def _add_day(work: RepairWork, error: FieldError, holder: Any, key: str | int, format: str) -> bool:
    """Add the day to a time that was sent without one: that of the start, of the row, or else the next one."""
    now = work.help.now()
    day, reason = _find_day(work, str(key), holder)
    found = dates.find_date(holder[key], format, now=dates.get_midnight(day or now))
    if found and day is None and work.op.is_write and dates.is_past(found, now):
        reason = "tomorrow, because that time is past today"
        found = dates.find_date(holder[key], format, now=dates.get_midnight(now + timedelta(days=1)))
    if found is None:
        return False
    holder[key] = found
    work.errors_by_path[error.path] = replace(
        error, message=f"{key} has no day; send {found}, {reason}.", expected=None
    )
    return True


def _keep_time(work: RepairWork, error: FieldError, holder: Any, key: str | int, format: str) -> bool:
    """Add to a day the time that the row has: moving something to Friday does not move it to the morning."""
    now, name = work.help.now(), str(key)
    is_day = dates.find_day_at(holder[key], dates.START_OF_WORK, format, now=now, name=name) is not None
    stored = work.help.find_date(name, work.args) if is_day and work.may_look_up() else None
    if not isinstance(stored, datetime):
        return False
    time_of_day = stored.astimezone(now.tzinfo).time().replace(microsecond=0)
    found = holder[key] = dates.find_day_at(holder[key], time_of_day, format, now=now, name=name)
    message = f"{key} has no time; send {found}, that day at its current time."
    work.errors_by_path[error.path] = replace(error, message=message, expected=None)
    return True


def _move_date(
    work: RepairWork, error: FieldError, holder: Any, key: str | int, format: str, offset: relativedelta
) -> bool:
    """Replace "+1 week" by the date that the row has, moved by a week; from now, if it has none."""
    occurrence = holder.get("occurrence_start") if isinstance(holder, dict) and key in ("start_at", "due_at") else None
    base: date | None = dates.read_day(occurrence)
    if base is None and work.may_look_up():
        base = work.help.find_date(str(key), work.args)
    now = work.help.now()
    found = dates.add_offset(base, offset, format, now=now)
    if found is None:
        return False
    holder[key] = found
    origin = f"its current date, {_format_day(base)}" if base else f"today, {_format_day(now)}"
    work.errors_by_path[error.path] = replace(
        error, message=f"Send {found} for {key}, counted from {origin}.", expected=None
    )
    return True


def _choose_states(work: RepairWork, error: FieldError, holder: Any, key: str | int, states: Sequence[str]) -> bool:
    """Replace a word such as open by all states that it means. Return False if the argument takes one of several."""
    if isinstance(holder, list) or len(states) == 1:
        holder[key] = states[0]
        if isinstance(holder, list):
            holder[:] = dict.fromkeys([*holder, *states])
        message = f"{STATE} means {', '.join(states)}; send that."
        if len(states) > 1:
            message = f"Send {STATE} as a list: {', '.join(states)}."
    else:
        message = f"{STATE} takes one state: send {' or '.join(states)}, or leave it out for rows in any."
    work.errors_by_path[error.path] = replace(error, message=message, expected=list(states))
    return isinstance(holder, list) or len(states) == 1


def _format_day(when: date) -> str:
    return when.isoformat() if not isinstance(when, datetime) else when.date().isoformat()


def _find_day(work: RepairWork, name: str, holder: Any) -> tuple[datetime | None, str]:
    """Return a moment of the day that a time means, and how that is known; None if nothing gives the day."""
    zone = work.help.now().tzinfo
    for other in ("start_at", "occurrence_start"):
        if other != name and isinstance(holder, dict) and (day := dates.read_day(holder.get(other))):
            return datetime.combine(day, time.min, zone), f"on the day of {other}"
    found = work.help.find_date(name, work.args) if work.may_look_up() else None
    day = found.date() if isinstance(found, datetime) else found
    return (datetime.combine(day, time.min, zone), "on its current day") if day else (None, "today")


def find_id_of_title(work: RepairWork, error: FieldError, holder: Any, key: str | int, name: str) -> bool:
    """Replace a title by the id of its row. `name` is that of the argument, or of the list that the title is in."""
    if name == "project_id" and is_uuid(work.help.context.project_id):
        holder[key] = work.help.context.project_id
        return True
    if not is_title(holder[key]) or not work.may_look_up():
        return False
    is_item = isinstance(key, int)
    found = work.help.find_id(
        name.removesuffix("s") if is_item else name, holder[key], work.args if is_item else holder
    )
    if found is None:
        return False
    id, id_error = found
    work.errors_by_path[error.path] = replace(id_error, path=error.path)
    if id is not None:
        holder[key] = id
    return id is not None


def add_missing(work: RepairWork, name: str) -> bool:
    """Add a missing argument that other args imply. Return whether that is certain."""
    if name == CURRENT_PROJECT and (project := work.help.find_project(work.args)):
        work.args[name] = project
        return True
    return _add_kind(work, name) or _identify_by_title(work, name) or _nest(work, name)


def choose_scope(work: RepairWork) -> list[FieldError]:
    """Choose the smallest scope for a call that names one occurrence of a recurring row; return what was wrong.

    With the scope of all occurrences, the corrected call would be refused as well.
    """
    if not {OCCURRENCE, SCOPE} <= work.op.arguments.keys() or work.args.get(OCCURRENCE) is None:
        return []
    if work.args.get(SCOPE, ALL) != ALL:
        return []
    work.args[SCOPE] = ONE
    message = f"{OCCURRENCE} names one occurrence: send {SCOPE} {ONE}, or {LATER} for all later ones as well."
    return [FieldError(f"/{SCOPE}", "missing", message, expected=[ONE, LATER])]


def add_label(holder: Any, path: Sequence[str | int]) -> bool:
    """Add a missing temp_id to an item of a list: a label that the caller makes up, such as e1."""
    *_, index, name = path
    if name != LABEL or not isinstance(index, int) or not isinstance(holder, dict):
        return False
    holder[LABEL] = f"e{index + 1}"
    return True


def _add_kind(work: RepairWork, name: str) -> bool:
    """Add the missing kind of a row whose id or title was sent, such as src_kind with src_id."""
    stem = name.removesuffix("_kind")
    if stem == name or not work.may_look_up():
        return False
    is_any = f"{stem}_id" == row_ids.ANY_ID
    if is_any and (named := _find_named_row(work)):
        work.args[name] = named[1]
        return True
    labels = row_ids.LABELS if is_any else ()
    row = next((work.args[each] for each in (f"{stem}_id", f"{stem}_title", *labels) if each in work.args), None)
    if isinstance(row, str) and is_title(row) and (found := work.help.find_id(row_ids.ANY_ID, row, {})):
        row = found[0]
    kind = work.help.find_kind(row)
    if kind not in work.op.arguments.get(name, {}).get("enum", ()):
        return False
    work.args[name] = kind
    return True


def _find_named_row(work: RepairWork) -> tuple[str, str] | None:
    """Return the unknown argument that names a row by its kind, such as task or document_title, and the kind."""
    kinds = work.op.vocabulary.words_by_entity.keys()
    for name in work.args.keys() - work.op.arguments.keys():
        kind = _ROW_NAME_ENDING.sub("", english.to_snake_case(name[:100]))
        if kind in kinds and isinstance(work.args[name], str):
            return name, kind
    return None


def _identify_by_title(work: RepairWork, name: str) -> bool:
    """Find a missing id by the title that was sent: it says which row is meant. Without one row, report candidates."""
    named = _find_named_row(work) if name == row_ids.ANY_ID else None
    if named and is_uuid(work.args[named[0]]):
        return _send_as(work, named[0], name)
    sent = {**work.labels, **work.args}
    titles = [named[0]] if named else _list_title_names(work, name)
    label = next((each for each in titles if isinstance(sent.get(each), str)), None)
    is_own = name in (f"{work.op.entity}_id", row_ids.ANY_ID)
    if label is None or not (is_own or label not in row_ids.LABELS) or not work.may_look_up():
        return False
    found = work.help.find_id(f"{named[1]}_id" if named else name, sent[label], work.args)
    if found is None:
        return False
    id, error = found
    work.errors_by_path[f"/{name}"] = replace(error, path=f"/{name}")
    if id is None or (error.code == row_ids.SIMILAR_TITLE and label in work.op.arguments):
        return False
    work.args[name] = id
    if label in work.args:
        del work.args[label]
        del work.errors_by_path[f"/{name}"]
        work.errors_by_path[f"/{label}"] = replace(error, path=f"/{label}")
    return True


def _send_as(work: RepairWork, sent_name: str, name: str) -> bool:
    work.args[name] = work.args.pop(sent_name)
    message = f"Unknown argument {sent_name}; send {name}."
    work.errors_by_path[f"/{sent_name}"] = FieldError(f"/{sent_name}", "unknown_argument", message, expected=name)
    return True


def identify_other_row(work: RepairWork, name: str) -> bool:
    """Send the id of another row that was named by exactly its title, such as document_title for document_id."""
    stem = _TITLE_ENDING.sub("", english.to_snake_case(name[:100]))
    id_argument, title = f"{stem}_id", work.args[name]
    is_other = stem not in (english.to_snake_case(name[:100]), work.op.entity)
    if not is_other or id_argument not in work.op.arguments or id_argument in work.args or not is_title(title):
        return False
    found = work.help.find_id(id_argument, title, work.args) if work.may_look_up() else None
    if found is None or found[0] is None or found[1].code != row_ids.TITLE:
        return False
    work.args[id_argument] = found[0]
    del work.args[name]
    work.errors_by_path[f"/{name}"] = replace(found[1], path=f"/{name}")
    return True


def _list_title_names(work: RepairWork, name: str) -> list[str]:
    """Return the names under which the title of a row is sent instead of its id."""
    stem = name.removesuffix("_id")
    return [
        f"{stem}_title",
        f"{stem}_name",
        stem,
        *(row_ids.LABELS if stem == work.op.entity or name == row_ids.ANY_ID else ()),
    ]


def _nest(work: RepairWork, name: str) -> bool:
    """Put args that the op does not know into the missing object that has them, such as {"project": {…}}."""
    argument = get_subschema(work.op.schema, [name])
    is_list = argument.get("type") == "array"
    members = (get_subschema(work.op.schema, [name, 0]) if is_list else argument).get("properties", {})
    loose = [each for each in work.args if each not in work.op.arguments and each in members]
    if not loose:
        return False
    item = {each: work.args.pop(each) for each in loose}
    work.args[name] = [item] if is_list else item
    for each in loose:
        message = f"{each} belongs in {name}."
        work.errors_by_path[f"/{each}"] = FieldError(f"/{each}", "unknown_argument", message)
    return True


def nest_in_body(work: RepairWork, name: str) -> bool:
    """Put args into the optional body of a request that has a member of this name. A required one is missing itself."""
    if REQUEST_BODY not in work.op.arguments or REQUEST_BODY in work.args:
        return False
    return name in get_subschema(work.op.schema, [REQUEST_BODY]).get("properties", {}) and _nest(work, REQUEST_BODY)


def take_kind(holder: dict[str, Any], name: str, schema: Schema) -> None:
    """Send the kind of a row as its own argument, if it was sent with the id: {"from": {"kind": …, "id": …}}."""
    kind_name = f"{name.removesuffix('_id')}_kind"
    kind = next((holder[name][each] for each in ("kind", "type", "entity") if each in holder[name]), None)
    if isinstance(kind, str) and kind_name in schema.get("properties", {}):
        holder.setdefault(kind_name, kind)
