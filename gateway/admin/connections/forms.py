"""Forms of the pages that import a document."""

from typing import Any

from django import forms
from unfold.widgets import (
    UnfoldAdminCheckboxSelectMultipleWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
    UnfoldAdminURLInputWidget,
    UnfoldBooleanWidget,
)

from registry.admin.forms import MultipleFileField, MultipleFileInput
from registry.imports import import_document, run_import
from registry.imports.document_source import MAX_BYTES
from registry.imports.import_document import Selection
from registry.imports.run_import import InvalidImportGroup
from registry.models import Connection, DocumentImport, name_validator

NEW = ""  # the choice of a new connection
UNTAGGED = "without a tag"


class DocumentForm(forms.Form):
    """Where the document is: an address, files or text."""

    url = forms.URLField(
        label="Address",
        required=False,
        max_length=500,
        assume_scheme="https",
        widget=UnfoldAdminURLInputWidget(attrs={"placeholder": "https://api.example.com/openapi.json"}),
        help_text="Best: its changes can be found later.",
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
        """Refuse anything but one of the three."""
        cleaned = super().clean() or {}
        cleaned["uploads"] = [file for file in cleaned.get("uploads") or () if file]
        given = [name for name in ("url", "uploads", "text") if cleaned.get(name)]
        if len(given) != 1 and not self.errors:
            raise forms.ValidationError("Send an address, files or text: one of the three.")
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


class PickForm(forms.Form):
    """Which operations become ops, in which group, and through which connection they run."""

    tags = forms.MultipleChoiceField(
        required=False, widget=UnfoldAdminCheckboxSelectMultipleWidget, help_text="None picked: all of them."
    )
    methods = forms.MultipleChoiceField(
        required=False, widget=UnfoldAdminCheckboxSelectMultipleWidget, help_text="None picked: all of them."
    )
    search = forms.CharField(
        label="Words",
        required=False,
        max_length=200,
        widget=UnfoldAdminTextInputWidget,
        help_text="Only operations whose path or texts have all of these words.",
    )
    include_deprecated = forms.BooleanField(
        label="Deprecated ones, too", required=False, initial=True, widget=UnfoldBooleanWidget
    )
    group = forms.CharField(
        max_length=run_import.MAX_GROUP,
        widget=UnfoldAdminTextInputWidget(attrs={"placeholder": "crm"}),
        help_text="Where the ops go: crm gives crm.contact.list. Lower-case words, joined by dots.",
    )
    connection = forms.ChoiceField(label="Run through", required=False, widget=UnfoldAdminSelectWidget)
    name = forms.CharField(
        label="Name of the new connection",
        required=False,
        max_length=60,
        validators=[name_validator],
        widget=UnfoldAdminTextInputWidget,
        help_text="Empty: as the group.",
    )
    base_url = forms.URLField(
        label="Base URL of the new connection",
        required=False,
        max_length=500,
        assume_scheme="https",
        widget=UnfoldAdminURLInputWidget,
    )

    def __init__(self, *args: Any, row: DocumentImport, **kwargs: Any) -> None:
        kwargs.setdefault("initial", {})
        kwargs["initial"] = _build_initial(row) | kwargs["initial"]
        super().__init__(*args, **kwargs)
        connections = Connection.objects.filter(kind=Connection.Kind.HTTP).values_list("name", flat=True)
        self._set_choices("tags", [(tag, f"{tag or UNTAGGED} ({count:,})") for tag, count in row.found["tags"]])
        self._set_choices("methods", [(method, f"{method} ({count:,})") for method, count in row.found["methods"]])
        self._set_choices("connection", [(NEW, "A new connection"), *((name, name) for name in connections)])

    def clean_group(self) -> str:
        """Refuse a group that ops cannot be imported into."""
        group: str = self.cleaned_data["group"]
        try:
            run_import.check_group(group)
        except InvalidImportGroup as error:
            raise forms.ValidationError(str(error)) from None
        return group

    def clean(self) -> dict[str, Any]:
        """Refuse a new connection without an address, or with the name of another one."""
        cleaned = super().clean() or {}
        if cleaned.get("connection") == NEW and "group" in cleaned:
            cleaned["name"] = cleaned.get("name") or cleaned["group"].replace(".", "_")
            if not cleaned.get("base_url") and "base_url" not in self.errors:
                self.add_error("base_url", "Send where the service is, such as https://api.example.com/v1.")
            if Connection.objects.filter(name=cleaned["name"]).exists():
                self.add_error("name", f"There is a connection {cleaned['name']}. Choose it above, or another name.")
        return cleaned

    def read_selection(self) -> Selection:
        """Return which operations were picked."""
        data = self.cleaned_data
        return Selection(data["tags"], data["methods"], data["search"], data["include_deprecated"])

    def _set_choices(self, name: str, choices: list[tuple[str, str]]) -> None:
        self.fields[name].choices = choices  # type: ignore[attr-defined]  # a ChoiceField


def _build_initial(row: DocumentImport) -> dict[str, Any]:
    """Return what the form starts with: what was picked last time, if the document was imported before."""
    earlier = Connection.objects.filter(document_url=row.url).exclude(import_group="").first() if row.url else None
    if earlier is None:
        return {"base_url": row.found["connection"]["base_url"]}
    selection = import_document.read_selection(earlier.import_selection)
    return {
        "tags": selection.tags,
        "methods": selection.methods,
        "search": selection.search,
        "include_deprecated": selection.include_deprecated,
        "group": earlier.import_group,
        "connection": earlier.name,
    }
