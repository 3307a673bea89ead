"""The page that adds an op: its path, the service that runs it, address and arguments. Its test call comes next."""

from datetime import datetime
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction
from django.forms.fields import InvalidJSONInput
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils import timezone
from unfold.widgets import (
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
)

from audit import audit_log
from console import diff_view
from console.connections.connection_fields import read_audit_values
from console.copy import add_op_form
from console.copy.add_op_form import ArgumentFormSet, BaseArgumentFormSet, HandMadeOp
from core.admin import base
from core.admin.form_fields import StrictJSONField
from registry import request_mapping
from registry.models import Connection, Op, path_validator

# Which input of the page sets a column of the op. Errors of other columns are shown above the form.
INPUT_BY_COLUMN = {
    "op": "op",
    "tool_name": "op",
    "summary": "summary",
    "description": "description",
    "request": "address",
    "parameters_schema": "schema",
    "name": "service_name",
    "base_url": "base_url",
}
SERVICE_FIELDS = ("service_name", "base_url")
FOLDED_FIELDS = (*SERVICE_FIELDS, "schema")
HTTP_CONNECTIONS = Connection.objects.filter(kind=Connection.Kind.HTTP).order_by("name")


class OpByHandForm(forms.Form):
    """What the op is called and which request it sends."""

    connection = forms.ModelChoiceField(
        HTTP_CONNECTIONS,
        required=False,
        empty_label="A new service",
        widget=UnfoldAdminSelectWidget,
        help_text="The service that runs the op. Ops of MCP servers are imported, see Connections.",
    )
    service_name = forms.CharField(
        label="Name of the new service",
        required=False,
        max_length=60,
        widget=UnfoldAdminTextInputWidget(attrs={"placeholder": "billing"}),
    )
    base_url = forms.CharField(
        label="Its base URL",
        required=False,
        max_length=500,
        widget=UnfoldAdminTextInputWidget(attrs={"placeholder": "https://api.acme.com/v1"}),
        help_text="If it needs a key, add the connection under Connections first, with its key.",
    )
    op = forms.CharField(
        label="Path",
        max_length=200,
        validators=[path_validator],
        widget=UnfoldAdminTextInputWidget(attrs={"placeholder": "shop.order.get"}),
        help_text="Group, resource and verb. Missing groups are added.",
    )
    summary = forms.CharField(
        max_length=200, widget=UnfoldAdminTextInputWidget, help_text="One line, at most 12 words."
    )
    description = forms.CharField(required=False, max_length=4000, widget=UnfoldAdminTextareaWidget(attrs={"rows": 3}))
    method = forms.ChoiceField(
        choices=[(method, method) for method in request_mapping.METHODS], widget=UnfoldAdminSelectWidget
    )
    address = forms.CharField(
        max_length=2000,
        widget=UnfoldAdminTextInputWidget(attrs={"placeholder": "/orders/{order_id}?expand=lines"}),
        help_text="Below the connection's base URL. {name} is an argument; a query here is sent in every call.",
    )
    kind = forms.ChoiceField(
        choices=[("", "by its method"), *Op.Kind.choices],
        required=False,
        widget=UnfoldAdminSelectWidget,
        help_text="GET reads, other methods write. Choose read for a POST that only searches.",
    )

    schema = StrictJSONField(
        label="JSON Schema of the arguments",
        required=False,
        initial=InvalidJSONInput(""),  # Django shows this type unchanged, and None as null
        widget=base.JSON_WIDGET,
        help_text="An object with properties. Then leave the rows of arguments empty.",
    )

    def __init__(self, *args: Any, may_add_connection: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not may_add_connection:
            del self.fields["service_name"], self.fields["base_url"]
            self.fields["connection"].required = True

    def list_fields(self) -> list[forms.BoundField]:
        """Return the fields of the op itself, which always show."""
        return [field for field in self.visible_fields() if field.name not in ("connection", *FOLDED_FIELDS)]

    def list_service_fields(self) -> list[forms.BoundField]:
        """Return the fields of a new service, none for users who may not add one."""
        return [self[name] for name in SERVICE_FIELDS if name in self.fields]

    def is_service_open(self) -> bool:
        """Return whether the fields of a new service are in use, or the only way."""
        return not self["connection"].value() or any(
            self[name].value() for name in SERVICE_FIELDS if name in self.fields
        )

    def clean_schema(self) -> dict[str, Any] | None:
        """Refuse a schema that is not an object."""
        schema = self.cleaned_data["schema"]
        if schema is not None and not isinstance(schema, dict):
            raise forms.ValidationError('The schema must be an object, such as {"type": "object", "properties": {}}.')
        return schema

    def clean_op(self) -> str:
        """Refuse a path that is taken, also as a tool name: the op's is its path with underscores."""
        path: str = self.cleaned_data["op"]
        if Op.objects.filter(op=path).exists():
            raise forms.ValidationError("An op with this path already exists. Choose another path.")
        tool_name = add_op_form.choose_tool_name(path)
        if other := Op.objects.filter(tool_name=tool_name).first():
            raise forms.ValidationError(f"The tool name {tool_name} belongs to {other}. Choose another path.")
        return path

    def clean_address(self) -> str:
        """Refuse a whole address: the connection says where the service is."""
        address: str = self.cleaned_data["address"]
        if "://" in address or address.startswith("//"):
            raise forms.ValidationError("Send only the path below the base URL, such as /orders/{order_id}.")
        return address

    def clean(self) -> dict[str, Any]:
        """Refuse a read whose method changes something: reads are retried, and tests send them for real."""
        cleaned = super().clean() or {}
        if cleaned.get("kind") == Op.Kind.READ and cleaned.get("method") in ("PUT", "PATCH", "DELETE"):
            self.add_error("kind", f"{cleaned['method']} changes something. Choose write.")
        if "service_name" in self.fields and "connection" in cleaned:
            self._check_service(cleaned)
        return cleaned

    def _check_service(self, cleaned: dict[str, Any]) -> None:
        """Refuse a new service without a name or URL, and one beside a chosen connection."""
        new = {name: cleaned.get(name) for name in ("service_name", "base_url")}
        if cleaned["connection"] is not None and any(new.values()):
            self.add_error("connection", "Choose a connection or describe a new service, not both.")
        elif cleaned["connection"] is None:
            for name in (name for name, value in new.items() if not value and name not in self.errors):
                self.add_error(name, "Enter it, or choose a connection.")

    def is_write(self) -> bool:
        """Return whether the op writes."""
        kind: str = self.cleaned_data["kind"]
        return kind == Op.Kind.WRITE if kind else self.cleaned_data["method"] not in request_mapping.READ_METHODS


def show_add_op(request: HttpRequest) -> HttpResponse:
    """Show the form. A POST adds the op to the draft, and the connection if it is new, and goes on to its test call."""
    if not diff_view.can_write_draft(request):
        raise PermissionDenied
    may_add_connection = request.user.has_perm("registry.add_connection")
    form = OpByHandForm(
        request.POST or None,
        initial={"connection": _read_connection(request)},
        may_add_connection=may_add_connection,
    )
    arguments = ArgumentFormSet(request.POST or None, prefix="argument")
    if request.method == "POST" and form.is_valid() and arguments.is_valid():
        op = _add_op(request, form, arguments)
        if op is not None:
            messages.success(request, f"Added {op} to the draft. Try it, then review and publish.")
            return redirect("admin:op_try", op.pk)
    context = {
        "title": "Add an op",
        "form": form,
        "arguments": arguments,
        "errors": [*form.non_field_errors(), *arguments.list_errors()],
        "can_add": may_add_connection or HTTP_CONNECTIONS.exists(),
    }
    return TemplateResponse(request, "console/copy/add_op.html", admin.site.each_context(request) | context)


def _read_connection(request: HttpRequest) -> Connection | None:
    """Return the connection of the URL, else the only one there is."""
    pk = request.GET.get("connection", "")
    if pk.isascii() and pk.isdigit() and len(pk) < 19:
        return HTTP_CONNECTIONS.filter(pk=int(pk)).first()
    first = list(HTTP_CONNECTIONS[:2])
    return first[0] if len(first) == 1 else None


def _add_op(request: HttpRequest, form: OpByHandForm, arguments: BaseArgumentFormSet) -> Op | None:
    """Add the op; return None, with errors in the form, if it would be invalid."""
    data, schema = form.cleaned_data, form.cleaned_data["schema"]
    rows = [row.build_argument() for row in arguments.list_rows()]
    if schema is not None and rows:
        form.add_error("schema", "Fill in the arguments below or paste a schema, not both.")
        return None
    op = HandMadeOp(
        op=data["op"],
        summary=data["summary"],
        description=data["description"],
        method=data["method"],
        address=data["address"],
        is_write=form.is_write(),
        arguments=rows if schema is None else add_op_form.list_schema_arguments(schema, data["method"]),
        schema=schema,
    )
    names = {argument.name for argument in op.arguments}
    if missing := sorted(op.list_placeholders() - names):
        form.add_error("address", f"No argument is named {', '.join(missing)}. Add it below, or remove the braces.")
    if not arguments.check_with_address(op.list_placeholders()) or missing:
        return None
    by, at = request.user.get_username(), timezone.now()
    try:
        with transaction.atomic():
            connection = data["connection"] or _add_connection(form, by=by, at=at)
            return add_op_form.add_hand_made_op(op, connection, by=by, at=at)
    except ValidationError as error:
        for column, texts in error.message_dict.items():
            form.add_error(INPUT_BY_COLUMN.get(column), texts)
    return None


def _add_connection(form: OpByHandForm, *, by: str, at: datetime) -> Connection:
    """Add the new service. Raises ValidationError."""
    data = form.cleaned_data
    connection = Connection(name=data["service_name"], kind=Connection.Kind.HTTP, base_url=data["base_url"])
    connection.full_clean()
    connection.save()
    audit_log.record_change("connection", connection.name, None, read_audit_values(connection), by=by, at=at)
    return connection
