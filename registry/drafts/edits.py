"""Small edits of one op's entry, and the revert of one change that keeps the later ones."""

from datetime import datetime
from typing import Any, NamedTuple

from django.core.exceptions import ValidationError
from django.db import models

from audit.models import AuditEntry
from core.text import json_text
from registry.drafts import draft
from registry.models import PolicyRule, name_validator
from registry.snapshot import snapshot
from registry.snapshot.diff import COPY_KINDS, Action, CopyChange, Kind, is_same_json
from registry.snapshot.entries import OpEntry

MAX_RULE_LENGTH = PolicyRule._meta.get_field("text").max_length or 0  # characters


class NotRevertible(Exception):
    """The change cannot be reverted. The message says why."""


class PlannedRevert(NamedTuple):
    """The effect of a revert: an entry of the draft before and after. None: there is no such entry."""

    kind: Kind
    current: dict[str, Any] | None
    previous: dict[str, Any] | None


def revert_change(entry: AuditEntry, *, by: str, at: datetime) -> CopyChange:
    """Revert one change of copy. The revert is recorded as a new change.

    Raises the errors of plan_revert, and draft.DraftRefused if the revert would add problems to the draft.
    """
    plan = plan_revert(entry)
    note = f"Reverted what {entry.by} {entry.action} at {entry.time:%Y-%m-%d %H:%M}"
    return draft.write_entry(plan.kind, entry.name, plan.previous, by=by, at=at, note=note)


def plan_revert(entry: AuditEntry) -> PlannedRevert:
    """Return what reverting a change would do to the draft, without doing it.

    Raises NotRevertible if it is not a change of copy, or if the same fields were changed again since.
    """
    if entry.action not in list(Action):
        raise NotRevertible("It changed nothing in the draft.")
    if entry.kind not in COPY_KINDS:
        raise NotRevertible(f"Changes of a {entry.kind_label} cannot be reverted here.")
    kind = Kind(entry.kind)
    current = draft.read_entry(kind, entry.name)
    if entry.action == Action.REMOVED:
        if current is not None:
            raise NotRevertible(f"{entry.name} exists again.")
        previous: dict[str, Any] | None = _restore_previous_values(entry, {})
    elif current is None:
        raise NotRevertible(f"{entry.name} no longer exists.")
    elif entry.action == Action.ADDED:
        previous = None
        _refuse_if_shipped(kind, entry.name)
        _refuse_if_changed_since(entry)
    else:
        _refuse_if_fields_changed(entry, current)
        previous = _restore_previous_values(entry, current)
    return PlannedRevert(kind, current, previous)


def _restore_previous_values(entry: AuditEntry, current: dict[str, Any]) -> dict[str, Any]:
    previous = current | {name: before for name, (before, _) in entry.changes.items()}
    return {name: value for name, value in previous.items() if value is not None}


def _refuse_if_shipped(kind: Kind, name: str) -> None:
    row = draft.get_row(kind, name)
    if row is not None and row.shipped is not None:
        raise NotRevertible(COPY_KINDS[kind].explain_kept(name))


def _refuse_if_changed_since(entry: AuditEntry) -> None:
    later = AuditEntry.objects.filter(kind=entry.kind, name=entry.name, id__gt=entry.id).order_by("-id").first()
    if later is not None:
        raise NotRevertible(f"{later.by} {later.action} {entry.name} later. Revert that first.")


def _refuse_if_fields_changed(entry: AuditEntry, current: dict[str, Any]) -> None:
    changed = [
        name for name, (_, after) in entry.changes.items() if not is_same_json(snapshot.get_value(current, name), after)
    ]
    if changed:
        raise NotRevertible(f"{entry.name} was changed again later: {', '.join(changed)}. Revert that first.")


class OpEdit(models.TextChoices):
    """What an edit adds to an op."""

    KEYWORD = "keyword", "Keyword: words by which search finds the op"
    ALIAS = "alias", "Alias: another name of the op"
    ARGUMENT_ALIAS = "argument_alias", "Argument alias: another name of an argument"
    DO = "do", "Rule: do"
    DONT = "dont", "Rule: don't"
    EDGE_CASE = "edge_cases", "Rule: edge case"
    EXAMPLE = "example", "Example: a working call"


class InvalidOpEdit(Exception):
    """The edit cannot be made. The message says why."""


def apply_edit(entry: OpEntry, edit: OpEdit, text: str, *, argument: str = "") -> OpEntry:
    """Return an op's entry (see registry.snapshot.snapshot) with one more keyword, alias and so on.

    `argument` is the argument that an argument alias means. Raises InvalidOpEdit.
    """
    text = text.strip()
    if edit == OpEdit.EXAMPLE:
        return {**entry, "examples": [*entry.get("examples", []), {"args": _parse_args(text)}]}
    text = " ".join(text.split())
    if edit in (OpEdit.ALIAS, OpEdit.ARGUMENT_ALIAS):
        _check_name(text)
    if edit == OpEdit.ARGUMENT_ALIAS:
        aliases = snapshot.get_value(entry, "argument_aliases")
        if argument not in entry["parameters_schema"].get("properties", {}):
            raise InvalidOpEdit(f"{entry['op']} has no argument {argument or 'without a name'}.")
        if text in aliases:
            raise InvalidOpEdit(f"{text} is already an alias of {aliases[text]}.")
        return {**entry, "argument_aliases": {**aliases, text: argument}}
    if edit == OpEdit.KEYWORD:
        return {**entry, "keywords": _add_new(entry.get("keywords", []), text.lower())}
    if edit == OpEdit.ALIAS:
        return {**entry, "aliases": sorted(_add_new(entry.get("aliases", []), text))}
    if "…" in text or "..." in text:
        raise InvalidOpEdit("Replace … with what to send: models read the rule as it is.")
    if len(text) > MAX_RULE_LENGTH:
        raise InvalidOpEdit(f"{len(text)} characters; the limit of a rule is {MAX_RULE_LENGTH}.")
    policy = snapshot.get_value(entry, "policy")
    return {**entry, "policy": {**policy, edit.value: _add_new(policy.get(edit.value, []), text)}}


def _add_new(values: list[str], text: str) -> list[str]:
    if text in values:
        raise InvalidOpEdit(f"The op already has this: {text}")
    return [*values, text]


def _check_name(text: str) -> None:
    try:
        name_validator(text)
    except ValidationError as error:
        raise InvalidOpEdit(" ".join(error.messages)) from None


def _parse_args(text: str) -> dict[str, Any]:
    try:
        args = json_text.parse(text.encode("utf-8", "surrogatepass"), json_text.CONTENT_LIMITS)
    except json_text.NotStrictJSON as error:
        raise InvalidOpEdit(str(error).replace("The body", "The example")) from None
    if not isinstance(args, dict):
        raise InvalidOpEdit('Args are a JSON object, such as {"title": "Call the printers"}.')
    return args
