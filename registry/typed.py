"""Read the entry of a group, prompt section or op from bound admin forms, for the live preview.

Only single fields are validated, and nothing is saved. A value that its column cannot take is reported, and the entry
keeps the saved value, so that an editor sees the effect of an unfinished form.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.db import models
from django.forms.models import InlineForeignKeyField

from registry import draft, snapshot
from registry.models import Example, Op, OpAlias, PolicyRule

CALLED: dict[type[models.Model], str] = {PolicyRule: "Rule", Example: "Example", OpAlias: "Alias"}

Rows = list[tuple[Any, str]]  # (row, prefix of its inputs)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Why the value of an input cannot be saved. Line and column are 0 if unknown."""

    input: str
    message: str
    is_left: bool  # the entry keeps the saved value; else it has as much of the typed text as fits
    line: int = 0
    column: int = 0


@dataclass
class Typed:
    """An entry of copy as it is typed. Inputs are identified by their HTML names."""

    entry: dict[str, Any] = field(default_factory=dict)  # in the form of registry.snapshot
    unreadable: list[Unreadable] = field(default_factory=list)
    inputs: dict[str, str] = field(default_factory=dict)  # path in the entry -> its input
    texts: dict[str, str] = field(default_factory=dict)  # JSON input -> its text
    labels: dict[str, str] = field(default_factory=dict)  # input -> its label

    def input_of(self, place: str) -> tuple[str, str]:
        """Return (input, JSON Pointer within the input) for a path in the entry. The input is "" if there is none."""
        rest = ""
        while place and place not in self.inputs:
            place, _, step = place.rpartition("/")
            rest = f"/{step}{rest}"
        return self.inputs.get(place, ""), rest


def read_one(form: Any) -> Typed:
    """Return the entry of a bound form of a group or a prompt section. Changes the form's instance."""
    found = Typed()
    _fill(form, found)
    found.entry = draft.entry_of(form.instance)
    found.inputs = {name: form.add_prefix(name) for name in form.fields}
    return found


def read(form: forms.ModelForm[Op], formsets: Iterable[Any]) -> Typed:
    """Return the entry of a bound op form and the bound formsets of its rules, examples and aliases.

    Changes the instances of the forms. Values without an input, because the user may not change them, are as saved.
    """
    found = Typed()
    _fill(form, found)
    rows: dict[type[models.Model], Rows] = {}
    for formset in formsets:
        rows[formset.model] = []
        for number, each in enumerate(filter(_stays, formset.forms), start=1):
            _fill(each, found, f"{CALLED[formset.model]} {number}, ")
            rows[formset.model].append((each.instance, each.prefix))
    rows |= {model: _saved(form.instance, model) for model in CALLED if model not in rows}
    rules = [row for row in _in_order(rows[PolicyRule]) if row[0].kind in snapshot.POLICY_KEYS and row[0].text]
    examples = _in_order(rows[Example])
    aliases = sorted((row for row in rows[OpAlias] if row[0].name), key=lambda row: row[0].name)
    found.entry = snapshot.entry_with(
        form.instance,
        rules=[row for row, _ in rules],
        examples=[row for row, _ in examples],
        aliases=[row.name for row, _ in aliases],
    )
    found.inputs = {name: form.add_prefix(name) for name in form.fields} | _inputs(rules, examples, aliases)
    return found


def _saved(op: Op, model: type[models.Model]) -> Rows:
    related = {PolicyRule: "rules", Example: "examples", OpAlias: "aliases"}[model]
    return [(row, "") for row in getattr(op, related).all()] if op.pk else []


def _stays(form: Any) -> bool:
    """Return whether saving would keep a row of this form: not marked for deletion and not the empty extra one."""
    goes = form.fields.get("DELETE")
    if goes is not None and goes.clean(form["DELETE"].data):
        return False
    return not form.empty_permitted or form.has_changed()


def _fill(form: Any, found: Typed, called: str = "") -> None:
    """Set the values of a form's inputs on its instance."""
    row = form.instance
    columns = {column.name: column for column in row._meta.concrete_fields if not column.primary_key}
    for bound in form:
        column = columns.get(bound.name)
        if column is None or isinstance(bound.field, InlineForeignKeyField):
            continue
        label = str(bound.label)
        found.labels[bound.html_name] = f"{called}{label.lower()}" if called else label
        if isinstance(column, models.JSONField) and isinstance(bound.data, str):
            found.texts[bound.html_name] = bound.data
        try:
            value = _cleaned(bound, column, row)
        except ValidationError as error:
            is_left = not isinstance(column, models.CharField | models.TextField) or bool(column.choices)
            found.unreadable.append(_told(bound.html_name, error, is_left=is_left))
            if is_left:
                continue
            value = str(bound.data or "").replace("\x00", "").strip()[: column.max_length]
        setattr(row, column.name, value)


def _cleaned(bound: Any, column: Any, row: models.Model) -> Any:
    """Return the value of an input, validated for its column. Raises ValidationError."""
    value = bound.field.clean(bound.data)
    if column.is_relation or (column.blank and value in bound.field.empty_values):
        return value
    return column.clean(value, row)


def _told(name: str, error: ValidationError, *, is_left: bool) -> Unreadable:
    first: ValidationError = error.error_list[0]
    place = {key: (first.params or {}).get(key, 0) for key in ("line", "column")}
    return Unreadable(name, first.messages[0], is_left, **place)


def _in_order(rows: Rows) -> Rows:
    """Return rows in the order in which their model lists them after saving."""
    return sorted(rows, key=lambda row: (row[0].position, row[0].pk or float("inf")))


def _inputs(rules: Rows, examples: Rows, aliases: Rows) -> dict[str, str]:
    found: dict[str, str] = {}
    numbers = Counter[str]()
    for rule, prefix in rules:
        kind = snapshot.POLICY_KEYS[rule.kind]
        found[f"policy/{kind}/{numbers[kind]}"] = f"{prefix}-text"
        numbers[kind] += 1
    for index, (_, prefix) in enumerate(examples):
        found |= {f"examples/{index}/{name}": f"{prefix}-{name}" for name in snapshot.EXAMPLE_FIELDS}
        found[f"examples/{index}"] = f"{prefix}-args"
    found |= {f"aliases/{index}": f"{prefix}-name" for index, (_, prefix) in enumerate(aliases)}
    return {place: name for place, name in found.items() if not name.startswith("-")}
