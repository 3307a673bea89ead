"""Read the entry of a row of copy from bound admin forms, for the live preview.

Only single fields are validated, and nothing is saved. A value that its column cannot take is reported, and the entry
keeps the saved value, so that an editor sees the effect of an unfinished form.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, cast

from django import forms
from django.core.exceptions import ValidationError
from django.db import models
from django.forms.models import InlineForeignKeyField

from core.admin.form_fields import StrictJSONField
from registry.models import Example, Op, OpAlias, PolicyRule
from registry.snapshot import snapshot
from registry.snapshot.entries import Entry

ROW_LABELS: dict[type[models.Model], str] = {PolicyRule: "Rule", Example: "Example", OpAlias: "Alias"}

Rows = list[tuple[Any, str]]  # (row, prefix of its inputs)


@dataclass(frozen=True, slots=True)
class UnreadableInput:
    """Why the value of an input cannot be saved. Line and column are 0 if unknown."""

    input: str
    message: str
    keeps_saved_value: bool  # the entry keeps the saved value; else it has as much of the typed text as fits
    line: int = 0
    column: int = 0


@dataclass
class FormEntry:
    """An entry of copy as it is typed. Inputs are identified by their HTML names."""

    entry: Entry = field(default_factory=dict)  # in the form of registry.snapshot.snapshot
    unreadable: list[UnreadableInput] = field(default_factory=list)
    inputs: dict[str, str] = field(default_factory=dict)  # path in the entry -> its input
    texts: dict[str, str] = field(default_factory=dict)  # JSON input -> its text
    labels: dict[str, str] = field(default_factory=dict)  # input -> its label
    empty: set[str] = field(default_factory=set)  # inputs without a value
    missing: list[str] = field(default_factory=list)  # of these, the inputs that need a value, in the form's order

    def find_input(self, path: str) -> tuple[str, str]:
        """Return (input, JSON Pointer within the input) for a path in the entry. The input is "" if there is none."""
        pointer = ""
        while path and path not in self.inputs:
            path, _, step = path.rpartition("/")
            pointer = f"/{step}{pointer}"
        return self.inputs.get(path, ""), pointer


def read_text_form(form: Any) -> FormEntry:
    """Return the entry of a bound form of a row of copy other than an op. Changes the form's instance."""
    form_entry = FormEntry()
    _fill_instance(form, form_entry)
    form_entry.entry = snapshot.row_to_entry(form.instance)
    form_entry.inputs = {name: form.add_prefix(name) for name in form.fields}
    return form_entry


def read_op_forms(form: forms.ModelForm[Op], formsets: Iterable[Any]) -> FormEntry:
    """Return the entry of a bound op form and the bound formsets of its rules, examples and aliases.

    Changes the instances of the forms. Values without an input, because the user may not change them, are as saved.
    """
    form_entry = FormEntry()
    _fill_instance(form, form_entry)
    rows: dict[type[models.Model], Rows] = {}
    for formset in formsets:
        rows[formset.model] = []
        for number, each in enumerate(filter(_is_kept_on_save, formset.forms), start=1):
            _fill_instance(each, form_entry, f"{ROW_LABELS[formset.model]} {number}, ")
            rows[formset.model].append((each.instance, each.prefix))
    rows |= {model: _get_saved_rows(form.instance, model) for model in ROW_LABELS if model not in rows}
    rules = [row for row in _sort_as_saved(rows[PolicyRule]) if row[0].kind in snapshot.POLICY_KEYS and row[0].text]
    examples = _sort_as_saved(rows[Example])
    aliases = sorted((row for row in rows[OpAlias] if row[0].name), key=lambda row: row[0].name)
    form_entry.entry = cast(
        Entry,
        snapshot.op_to_entry_with(
            form.instance,
            rules=[row for row, _ in rules],
            examples=[row for row, _ in examples],
            aliases=[row.name for row, _ in aliases],
        ),
    )
    form_entry.inputs = {name: form.add_prefix(name) for name in form.fields} | _map_inputs(rules, examples, aliases)
    return form_entry


def _get_saved_rows(op: Op, model: type[models.Model]) -> Rows:
    related = {PolicyRule: "rules", Example: "examples", OpAlias: "aliases"}[model]
    return [(row, "") for row in getattr(op, related).all()] if op.pk else []


def _is_kept_on_save(form: Any) -> bool:
    """Return whether saving would keep a row of this form: not marked for deletion and not the empty extra one."""
    delete_field = form.fields.get("DELETE")
    if delete_field is not None and delete_field.clean(form["DELETE"].data):
        return False
    return not form.empty_permitted or form.has_changed()


def _fill_instance(form: Any, form_entry: FormEntry, row_label: str = "") -> None:
    """Set the values of a form's inputs on its instance."""
    row = form.instance
    columns = {column.name: column for column in row._meta.concrete_fields if not column.primary_key}
    for bound in form:
        column = columns.get(bound.name)
        if column is None or isinstance(bound.field, InlineForeignKeyField):
            continue
        label = str(bound.label)
        form_entry.labels[bound.html_name] = f"{row_label}{label.lower()}" if row_label else label
        if isinstance(bound.field, StrictJSONField) and isinstance(bound.data, str):
            form_entry.texts[bound.html_name] = bound.data
        if not bound.data:
            form_entry.empty.add(bound.html_name)
            if bound.field.required:
                form_entry.missing.append(bound.html_name)
        try:
            value = _clean_value(bound, column, row)
        except ValidationError as error:
            keeps_saved_value = not isinstance(column, models.CharField | models.TextField) or bool(column.choices)
            form_entry.unreadable.append(
                _build_unreadable_input(bound.html_name, error, keeps_saved_value=keeps_saved_value)
            )
            if keeps_saved_value:
                continue
            value = str(bound.data or "").replace("\x00", "").strip()[: column.max_length]
        setattr(row, column.name, value)


def _clean_value(bound: Any, column: Any, row: models.Model) -> Any:
    """Return the value of an input, validated for its column. Raises ValidationError."""
    value = bound.field.clean(bound.data)
    if column.is_relation or (column.blank and value in bound.field.empty_values):
        return value
    return column.clean(value, row)


def _build_unreadable_input(name: str, error: ValidationError, *, keeps_saved_value: bool) -> UnreadableInput:
    error_detail: ValidationError = error.error_list[0]
    position = {key: (error_detail.params or {}).get(key, 0) for key in ("line", "column")}
    return UnreadableInput(name, error_detail.messages[0], keeps_saved_value, **position)


def _sort_as_saved(rows: Rows) -> Rows:
    """Return rows in the order in which their model lists them after saving."""
    return sorted(rows, key=lambda row: (row[0].position, row[0].pk or float("inf")))


def _map_inputs(rules: Rows, examples: Rows, aliases: Rows) -> dict[str, str]:
    inputs: dict[str, str] = {}
    numbers = Counter[str]()
    for rule, prefix in rules:
        kind = snapshot.POLICY_KEYS[rule.kind]
        inputs[f"policy/{kind}/{numbers[kind]}"] = f"{prefix}-text"
        numbers[kind] += 1
    for index, (_, prefix) in enumerate(examples):
        inputs |= {f"examples/{index}/{name}": f"{prefix}-{name}" for name in snapshot.EXAMPLE_FIELDS}
        inputs[f"examples/{index}"] = f"{prefix}-args"
    inputs |= {f"aliases/{index}": f"{prefix}-name" for index, (_, prefix) in enumerate(aliases)}
    return {path: name for path, name in inputs.items() if not name.startswith("-")}
