"""What stands in the forms of a page of copy, saved or not, as far as it can be read.

Nothing is validated beyond the single fields, and nothing is saved: what a column cannot take stays as it was and is
told, so that whoever types sees what there is.
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

Rows = list[tuple[Any, str]]  # a row and the prefix of its inputs


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Why what stands in an input cannot be saved; with line and column where those are known."""

    input: str
    message: str
    is_left: bool  # the entry says what it said before; else as much of what is typed as its column takes
    line: int = 0
    column: int = 0


@dataclass
class Typed:
    """A row of copy as it is typed. Inputs go by their names."""

    entry: dict[str, Any] = field(default_factory=dict)  # as in registry.snapshot
    unreadable: list[Unreadable] = field(default_factory=list)
    inputs: dict[str, str] = field(default_factory=dict)  # path through the entry -> the input that holds it
    texts: dict[str, str] = field(default_factory=dict)  # input of JSON -> what stands in it
    labels: dict[str, str] = field(default_factory=dict)  # input -> what a person calls it

    def input_of(self, place: str) -> tuple[str, str]:
        """Return the input that holds a place in the entry, or nothing, and the JSON pointer to it within."""
        rest = ""
        while place and place not in self.inputs:
            place, _, step = place.rpartition("/")
            rest = f"/{step}{rest}"
        return self.inputs.get(place, ""), rest


def read_one(form: Any) -> Typed:
    """Return what stands in the bound form of a group or a prompt section. Its instance is made to say so."""
    found = Typed()
    _fill(form, found)
    found.entry = draft.entry_of(form.instance)
    found.inputs = {name: form.add_prefix(name) for name in form.fields}
    return found


def read(form: forms.ModelForm[Op], formsets: Iterable[Any]) -> Typed:
    """Return what stands in the bound form of an op and the bound formsets of its rules, examples and aliases.

    Their instances are made to say so. What has no input there, since it may not be changed, is as it was saved.
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
    """Whether saving would leave a row of this form: not one that is to go, nor the empty one at the end."""
    goes = form.fields.get("DELETE")
    if goes is not None and goes.clean(form["DELETE"].data):
        return False
    return not form.empty_permitted or form.has_changed()


def _fill(form: Any, found: Typed, called: str = "") -> None:
    """Put what stands in a form's inputs into its row."""
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
    """Return the value that an input would give its column. Raises ValidationError."""
    value = bound.field.clean(bound.data)
    if column.is_relation or (column.blank and value in bound.field.empty_values):
        return value
    return column.clean(value, row)


def _told(name: str, error: ValidationError, *, is_left: bool) -> Unreadable:
    first: ValidationError = error.error_list[0]
    place = {key: (first.params or {}).get(key, 0) for key in ("line", "column")}
    return Unreadable(name, first.messages[0], is_left, **place)


def _in_order(rows: Rows) -> Rows:
    """Return rows as their model orders them once they are saved."""
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
