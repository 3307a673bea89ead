"""The form that adds an op by hand, with rows for its arguments, and what it saves."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, cast
from urllib.parse import parse_qsl

from django import forms
from django.core.exceptions import ValidationError
from django.db import transaction
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget, UnfoldBooleanWidget

from core.text import json_text
from registry.drafts import history
from registry.jsonschema.dialect import Schema
from registry.models import ROOT, Connection, Example, Group, Op, get_parent_path
from registry.request_mapping import JSON_TYPE, READ_METHODS, is_header_allowed
from registry.snapshot.copy_kinds import Kind
from registry.snapshot.diff import Action, CopyChange

ARGUMENT_TYPES = ("string", "integer", "number", "boolean", "array", "object")
BODY = "body"
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
PLACES = [(name, name) for name in ("query", "path", BODY, "header", "cookie")]
EMPTY_ROWS = 3
MAX_ROWS = 50


@dataclass(frozen=True, slots=True)
class HandMadeArgument:
    """One argument. `place` is that of a parameter, or body, which is JSON; `example` is None if there is none."""

    name: str
    place: str
    type: str
    is_required: bool
    description: str = ""
    example: Any = None


@dataclass(frozen=True, slots=True)
class HandMadeOp:
    """One op. The address is below the connection's base URL, with {names} of arguments and a fixed query."""

    op: str
    summary: str
    description: str
    method: str
    address: str
    is_write: bool
    arguments: Sequence[HandMadeArgument] = field(default_factory=list)
    schema: Schema | None = None  # a whole argument schema, instead of one built from the arguments

    def build_request(self) -> dict[str, Any]:
        """Return the request mapping. Placeholders of the address go where it has them."""
        path, _, query = self.address.partition("?")
        request: dict[str, Any] = {"method": self.method, "path": path if path.startswith("/") else f"/{path}"}
        parameters = [{"name": each.name, "in": self._find_place(each)} for each in self.arguments]
        if listed := [each for each in parameters if each["in"] != BODY]:
            request["parameters"] = listed
        if fixed := dict(parse_qsl(query, keep_blank_values=True)):
            request["query"] = fixed
        if names := [each["name"] for each in parameters if each["in"] == BODY]:
            request["body"] = {"content_type": JSON_TYPE, "properties": {name: {} for name in names}}
        return request

    def build_schema(self) -> dict[str, Any]:
        """Return the argument schema."""
        if self.schema is not None:
            return self.schema
        properties = {
            each.name: {"type": each.type} | ({"description": each.description} if each.description else {})
            for each in self.arguments
        }
        required = [each.name for each in self.arguments if each.is_required or self._find_place(each) == "path"]
        schema: Schema = {"type": "object", "properties": properties}
        return schema | ({"required": required} if required else {}) | {"additionalProperties": False}

    def list_placeholders(self) -> frozenset[str]:
        """Return the names in braces in the path of the address."""
        return frozenset(_PLACEHOLDER.findall(self.address.partition("?")[0]))

    def _find_place(self, argument: HandMadeArgument) -> str:
        return "path" if argument.name in self.list_placeholders() else argument.place


def list_schema_arguments(schema: Schema, method: str) -> list[HandMadeArgument]:
    """Return the arguments of a whole schema: in the query of a read, else in the body."""
    properties = schema.get("properties")
    place = "query" if method in READ_METHODS else BODY
    names = properties if isinstance(properties, dict) else {}
    return [HandMadeArgument(str(name), place, "string", is_required=False) for name in names]


def choose_tool_name(path: str) -> str:
    """Return the tool name of an op with this path."""
    return path.replace(".", "_")


@transaction.atomic
def add_hand_made_op(made: HandMadeOp, connection: Connection, *, by: str, at: datetime) -> Op:
    """Add the op to the draft, with the groups above it and one example. Raises ValidationError."""
    changes = [_add_group(path) for path in _list_missing_groups(made.op)]
    op = Op(
        op=made.op,
        tool_name=choose_tool_name(made.op),
        kind=Op.Kind.WRITE if made.is_write else Op.Kind.READ,
        entity=made.op.split(".")[-2] if "." in made.op else "",
        action=made.op.rpartition(".")[2],
        summary=made.summary,
        description=made.description,
        parameters_schema=made.build_schema(),
        request=made.build_request(),
        needs_subject=False,
        connection=connection,
    )
    op.full_clean()
    op.save()
    if made.schema is None:  # a whole schema comes without a value for each argument
        args = {each.name: each.example for each in made.arguments if each.example is not None}
        example = Example(op=op, args=args)
        example.full_clean()
        example.save()
    history.record_changes(
        [*changes, CopyChange(Kind.OP, op.op, Action.ADDED)], by=by, at=at, note=f"Added by hand for {connection}"
    )
    return op


def _list_missing_groups(op: str) -> list[str]:
    missing, path = [], get_parent_path(op)
    while path != ROOT and not Group.objects.filter(path=path).exists():
        missing.append(path)
        path = get_parent_path(path)
    return missing[::-1]


def _add_group(path: str) -> CopyChange:
    if Op.objects.filter(op=path).exists():
        raise ValidationError({"op": [f"{path} is an op, so nothing can be below it. Choose another path."]})
    Group.objects.create(path=path, summary=path.rpartition(".")[2].replace("_", " ").capitalize())
    return CopyChange(Kind.GROUP, path, Action.ADDED)


class ArgumentForm(forms.Form):
    """One argument: its name, where it goes, its type and a value for the test call."""

    name = forms.RegexField(
        r"\A[A-Za-z0-9_.-]{1,64}\Z",
        error_messages={
            "invalid": "Use 1 to 64 letters, digits, dots, dashes and underscores.",
            "required": "Enter a name, or remove the row.",
        },
        widget=UnfoldAdminTextInputWidget,
    )
    place = forms.ChoiceField(label="Goes into", choices=PLACES, initial=PLACES[0][0], widget=UnfoldAdminSelectWidget)
    type = forms.ChoiceField(
        choices=[(name, name) for name in ARGUMENT_TYPES], initial=ARGUMENT_TYPES[0], widget=UnfoldAdminSelectWidget
    )
    is_required = forms.BooleanField(required=False, label="Required", widget=UnfoldBooleanWidget)
    description = forms.CharField(required=False, max_length=300, widget=UnfoldAdminTextInputWidget)
    value = forms.CharField(label="Example", required=False, max_length=2000, widget=UnfoldAdminTextInputWidget)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in self.fields:
            self.fields[name].widget.attrs["aria-label"] = self[name].label

    @property
    def is_removed(self) -> bool:
        """Whether the row was removed on the page."""
        return self.is_bound and bool(self.data.get(self.add_prefix("DELETE")))

    def clean(self) -> dict[str, Any]:
        """Read the example value as the type says."""
        cleaned = super().clean() or {}
        if cleaned.get("value") and cleaned.get("type"):
            try:
                cleaned["parsed"] = _parse_value(cleaned["value"], cleaned["type"])
            except ValueError:
                self.add_error("value", f"Not a valid {cleaned['type']}.")
        if cleaned.get("place") == "header" and cleaned.get("name") and not is_header_allowed(cleaned["name"]):
            self.add_error("name", f"An argument cannot set the header {cleaned['name']}.")
        return cleaned

    def build_argument(self) -> HandMadeArgument:
        """Return the argument of a valid row."""
        row = self.cleaned_data
        return HandMadeArgument(
            row["name"], row["place"], row["type"], row["is_required"], row["description"], row.get("parsed")
        )


class BaseArgumentFormSet(forms.BaseFormSet[ArgumentForm]):
    """The rows. Empty and removed rows are not arguments."""

    def list_rows(self) -> list[ArgumentForm]:
        """Return the rows that are arguments."""
        return [row for row in self.forms if row.has_changed() and not row.is_removed]

    def check_with_address(self, placeholders: frozenset[str]) -> bool:
        """Return whether valid rows fit together and fit the names in the address. Errors are added to the rows."""
        numbers: dict[str, int] = {}
        for number, row in self._iterate_numbered():
            if row not in self.list_rows():
                continue
            name, is_in_address = row.cleaned_data["name"], row.cleaned_data["name"] in placeholders
            if name in numbers:
                row.add_error("name", f"Argument {numbers[name]} has this name. Choose another one.")
            if row.cleaned_data["place"] == "path" and not is_in_address:
                row.add_error("place", f"The address has no {{{name}}}. Write it there, or choose another place.")
            if (is_in_address or row.cleaned_data["is_required"]) and not row.cleaned_data["value"]:
                row.add_error("value", "Enter one: a test call needs all required arguments.")
            numbers.setdefault(name, number)
        return not any(row.errors for row in self.list_rows())

    def list_errors(self) -> list[str]:
        """Return what is wrong, each with the number and the label as the page shows them."""
        if not self.is_bound:
            return []
        found = [str(text) for text in self.non_form_errors()]
        for number, row in self._iterate_numbered():
            for name, texts in row.errors.items():
                label = f", {row[name].label}" if name in row.fields else ""
                found += [f"Argument {number}{label}: {text}" for text in texts]
        return found

    def _iterate_numbered(self) -> Iterator[tuple[int, ArgumentForm]]:
        yield from enumerate((row for row in self.forms if not row.is_removed), start=1)


ArgumentFormSet = cast(
    type[BaseArgumentFormSet],
    forms.formset_factory(
        ArgumentForm,
        formset=BaseArgumentFormSet,
        extra=EMPTY_ROWS,
        max_num=MAX_ROWS,
        absolute_max=MAX_ROWS,
        can_delete=True,
    ),
)


def _parse_value(text: str, type: str) -> Any:
    if type == "string":
        return text
    value = json_text.parse(text.encode(), json_text.CONTENT_LIMITS)
    kinds: dict[str, Any] = {"integer": int, "number": (int, float), "boolean": bool, "array": list, "object": dict}
    if not isinstance(value, kinds[type]) or (isinstance(value, bool) and type != "boolean"):
        raise ValueError(json.dumps(value)[:20])
    return value
