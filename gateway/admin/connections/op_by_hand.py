"""The page that adds one op for one function of a service, as in an API client: address, arguments, test call."""

from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils import timezone
from unfold.widgets import (
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
)

from core.admin import base
from gateway.admin.connections import hand_made_ops
from gateway.admin.connections.argument_rows import ArgumentFormSet, BaseArgumentFormSet
from gateway.admin.connections.hand_made_ops import HandMadeOp
from registry import request_mapping
from registry.admin import diff_page
from registry.models import Connection, Op, path_validator

# Which input of the page sets a column of the op. Errors of other columns stand above the form.
INPUT_BY_COLUMN = {
    "op": "op",
    "tool_name": "op",
    "summary": "summary",
    "description": "description",
    "request": "address",
}


class OpByHandForm(forms.Form):
    """What the op is called and which request it sends."""

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

    def clean_op(self) -> str:
        """Refuse a path that is taken, also as a tool name: the op's is its path with underscores."""
        path: str = self.cleaned_data["op"]
        if Op.objects.filter(op=path).exists():
            raise forms.ValidationError("An op with this path already exists. Choose another path.")
        tool_name = hand_made_ops.choose_tool_name(path)
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
        """Refuse a read with a method that changes something: reads are sent again, and tried for real."""
        cleaned = super().clean() or {}
        if cleaned.get("kind") == Op.Kind.READ and cleaned.get("method") in ("PUT", "PATCH", "DELETE"):
            self.add_error("kind", f"{cleaned['method']} changes something. Choose write.")
        return cleaned

    def is_write(self) -> bool:
        """Return whether the op writes."""
        kind: str = self.cleaned_data["kind"]
        return kind == Op.Kind.WRITE if kind else self.cleaned_data["method"] not in request_mapping.READ_METHODS


class OpByHandMixin(base.ModelAdmin[Connection]):
    """Adds the page to the admin of connections."""

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.add_op_view)
        return [path("<int:pk>/add-op/", view, name="registry_connection_add_op"), *super().get_urls()]

    def add_op_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Show the form. A POST adds the op to the draft, and goes on to its test call."""
        if not diff_page.can_write_draft(request):
            raise PermissionDenied
        connection = get_object_or_404(Connection, pk=pk, kind=Connection.Kind.HTTP)
        form, arguments = OpByHandForm(request.POST or None), ArgumentFormSet(request.POST or None, prefix="argument")
        if request.method == "POST" and form.is_valid() and arguments.is_valid():
            op = _add_op(request, connection, form, arguments)
            if op is not None:
                self.message_user(request, f"Added {op} to the draft. Try it before you publish.", messages.SUCCESS)
                return redirect("admin:op_try", op.pk)
        context = {
            "title": f"Add an op of {connection}",
            "form": form,
            "arguments": arguments,
            "errors": [*form.non_field_errors(), *arguments.list_errors()],
            "connection": connection,
        }
        return TemplateResponse(
            request, "gateway/connections/add_op.html", self.admin_site.each_context(request) | context
        )


def _add_op(
    request: HttpRequest, connection: Connection, form: OpByHandForm, arguments: BaseArgumentFormSet
) -> Op | None:
    """Add the op; return None, with errors in the form, if it would be invalid."""
    data = form.cleaned_data
    op = HandMadeOp(
        op=data["op"],
        summary=data["summary"],
        description=data["description"],
        method=data["method"],
        address=data["address"],
        is_write=form.is_write(),
        arguments=[row.build_argument() for row in arguments.list_rows()],
    )
    names = {argument.name for argument in op.arguments}
    if missing := sorted(op.list_placeholders() - names):
        form.add_error("address", f"No argument is named {', '.join(missing)}. Add it below, or remove the braces.")
    if not arguments.check_with_address(op.list_placeholders()) or missing:
        return None
    try:
        return hand_made_ops.add(op, connection, by=request.user.get_username(), at=timezone.now())
    except ValidationError as error:
        for column, texts in error.message_dict.items():
            form.add_error(INPUT_BY_COLUMN.get(column), texts)
    return None
