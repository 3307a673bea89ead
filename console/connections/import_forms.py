"""Forms for where a document or an MCP server is that ops are imported from."""

from typing import Any

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError
from unfold.widgets import (
    INPUT_CLASSES,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
)

from console.forms import MultipleFileField, MultipleFileInput
from registry.imports import mcp_import
from registry.imports.document_source import MAX_BYTES, UnreadableDocument
from registry.models import Connection


def build_address_input(placeholder: str = "") -> forms.URLInput:
    """Return the input of an address. Unfold's repeats the address below it as a link."""
    return forms.URLInput(attrs={"class": " ".join(INPUT_CLASSES), "placeholder": placeholder})


class DocumentForm(forms.Form):
    """Where the document is: an address, files or text."""

    url = forms.URLField(
        label="Address",
        required=False,
        max_length=500,
        assume_scheme="https",
        widget=build_address_input("https://api.example.com/openapi.json"),
        help_text="Recommended: the gateway can then check it for changes.",
    )
    uploads = MultipleFileField(
        label="Or files",
        required=False,
        widget=MultipleFileInput(attrs={"accept": ".json,.yaml,.yml"}),
        help_text="JSON or YAML. With several files, choose the document itself first.",
    )
    text = forms.CharField(
        label="Or text",
        required=False,
        strip=False,
        widget=UnfoldAdminTextareaWidget(attrs={"class": "ui-code", "rows": 8, "spellcheck": "false"}),
    )

    def clean(self) -> dict[str, Any]:
        """Require exactly one of the three."""
        cleaned = super().clean() or {}
        cleaned["uploads"] = [file for file in cleaned.get("uploads") or () if file]
        given = [name for name in ("url", "uploads", "text") if cleaned.get(name)]
        if len(given) != 1 and not self.errors:
            raise ValidationError("Enter exactly one: an address, files or text.")
        if sum(file.size for file in cleaned["uploads"]) > MAX_BYTES:
            self.add_error(
                "uploads",
                f"The files have more than {MAX_BYTES // 1_000_000} MB. Import them with manage.py import_ops.",
            )
        return cleaned

    def read_files(self) -> dict[str, bytes]:
        """Return the uploaded files, or the text as one: {name: content}; empty for an address."""
        if text := self.cleaned_data.get("text"):
            return {"document": text.encode()}
        return {file.name: file.read() for file in self.cleaned_data["uploads"]}


class ServerForm(forms.Form):
    """Where the MCP server is: an address, a program of this machine, or a connection with its credentials."""

    connection = forms.ModelChoiceField(
        Connection.objects.filter(kind=Connection.Kind.MCP).order_by("name"),
        to_field_name="name",
        required=False,
        empty_label="A new connection",
        widget=UnfoldAdminSelectWidget,
        help_text="Its credentials are used. If a new server needs credentials, add its connection first.",
    )
    url = forms.URLField(
        label="Or address",
        required=False,
        max_length=500,
        assume_scheme="https",
        widget=build_address_input("https://mcp.example.com/mcp"),
        help_text="URL of the MCP endpoint. URLs that end in /sse use the older transport.",
    )
    program = forms.ChoiceField(
        label="Or program",
        required=False,
        widget=UnfoldAdminSelectWidget,
        help_text="A program on this machine, from the setting GATEWAY_MCP_COMMANDS.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        names = sorted(settings.GATEWAY_MCP_COMMANDS)
        self.fields["program"].choices = [("", "None"), *((name, name) for name in names)]  # type: ignore[attr-defined]  # a ChoiceField
        if not names:
            del self.fields["program"]

    def clean(self) -> dict[str, Any]:
        """Require exactly one of the three, and add `server`: the connection to it, not saved if it is new."""
        cleaned = super().clean() or {}
        connection, url, program = (cleaned.get(name) for name in ("connection", "url", "program"))
        if self.errors:
            return cleaned
        if sum(map(bool, (connection, url, program))) != 1:
            raise ValidationError("Enter exactly one: a connection, an address or a program.")
        try:
            address = url or f"{mcp_import.PROGRAM_PREFIX}{program}"
            cleaned["server"] = connection or mcp_import.build_connection(address)
        except UnreadableDocument as error:
            self.add_error("url", str(error))
        return cleaned
