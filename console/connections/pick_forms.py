"""Forms for which of the listed operations or tools become ops, with which names, and through which connection."""

import json
from collections import Counter
from dataclasses import dataclass
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from unfold.widgets import (
    UnfoldAdminCheckboxSelectMultipleWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanWidget,
)

from console.connections.import_forms import build_address_input
from registry.imports import import_document, run_import
from registry.imports.import_document import Selection
from registry.imports.run_import import InvalidImportGroup
from registry.models import Connection, DocumentImport, name_validator, path_validator

NEW = ""  # the choice of a new connection
UNTAGGED = "without a tag"


@dataclass(frozen=True, slots=True)
class PickedOp:
    """A row of the table of what can be imported: what was found, whether it is ticked, and its name in the group."""

    found: dict[str, Any]
    is_ticked: bool
    leaf: str

    @property
    def tags(self) -> str:
        """Its tags, for the script that filters the table."""
        return json.dumps(self.found.get("tags", []))


class PickedOpsMixin(forms.Form):
    """Asks which of the listed ops are imported, with which names, and into which group.

    The table is not made of fields: there may be hundreds of rows. `op` has the places of the ticked ones,
    `name-<place>` a changed name.
    """

    FILTERS = ("tags", "methods", "search", "include_deprecated")
    TARGET = ("connection", "name", "base_url")
    row: DocumentImport
    earlier: Selection

    @property
    def filters(self) -> list[forms.BoundField]:
        """The fields that narrow the table."""
        return [self[name] for name in self.FILTERS if name in self.fields]

    @property
    def target(self) -> list[forms.BoundField]:
        """The fields that say through which connection the ops run."""
        return [self[name] for name in self.TARGET if name in self.fields]

    @property
    def ops(self) -> list[PickedOp]:
        """The rows of the table, as they were sent, or as at the last import."""
        left_out = set(self.read_without())
        return [
            PickedOp(found, found["name"] not in left_out, self._read_name(at) or found["leaf"])
            for at, found in enumerate(self.row.found.get("ops", ()))
        ]

    def read_without(self) -> list[str]:
        """Return the upstream names of listed ops that were not ticked."""
        if "listed" not in self.data:
            return list(self.earlier.without)
        ticked = set(self.data.getlist("op"))  # type: ignore[attr-defined]  # a QueryDict
        return [found["name"] for at, found in enumerate(self.row.found["ops"]) if str(at) not in ticked]

    def read_names(self) -> dict[str, str]:
        """Return the names in the group that new ops get, by upstream name: those that were changed.

        If the group is as suggested, also the others: an op gets the name that the table shows, even if its name would
        read differently among those that were picked.
        """
        is_shown = "listed" in self.data and self.data.get("group") == self.row.found["group"]
        listed = [(at, found) for at, found in enumerate(self.row.found.get("ops", ())) if found["leaf"]]
        names = {found["name"]: self._read_name(at) or (found["leaf"] if is_shown else "") for at, found in listed}
        return {upstream_name: name for upstream_name, name in names.items() if name}

    def _read_name(self, at: int) -> str:
        return str(self.data.get(f"name-{at}", "")).strip()

    def clean_names(self, group: str) -> None:
        """Refuse names that are no paths, and two ops of the same name."""
        names = self.read_names()
        for name in names.values():
            try:
                path_validator(f"{group}.{name}")
            except ValidationError:
                self.add_error(None, f"{name[:100]} is not a valid name. Use lower-case words, joined by dots.")
        for name, count in Counter(names.values()).items():
            if count > 1:
                self.add_error(None, f"Two ops are named {name}. Rename one.")

    def clean_group(self) -> str:
        """Refuse a group that ops cannot be imported into."""
        group: str = self.cleaned_data["group"]
        try:
            run_import.check_group(group)
        except InvalidImportGroup as error:
            raise ValidationError(str(error)) from None
        return group

    def clean_name_of_new(self, cleaned: dict[str, Any]) -> None:
        """Fill in the name of a new connection, and refuse the name of an existing one."""
        cleaned["name"] = cleaned.get("name") or cleaned["group"].replace(".", "_")
        if Connection.objects.filter(name=cleaned["name"]).exists():
            self.add_error("name", f"A connection {cleaned['name']} exists already. Choose it above, or another name.")


class PickToolsForm(PickedOpsMixin):
    """Which tools of an MCP server become ops, and in which group."""

    search = forms.CharField(
        label="Words",
        required=False,
        max_length=200,
        widget=UnfoldAdminTextInputWidget,
        help_text="Only tools whose name, title or description has all of these words. If empty, all tools.",
    )
    group = forms.CharField(
        max_length=run_import.MAX_GROUP,
        widget=UnfoldAdminTextInputWidget(attrs={"placeholder": "notes"}),
        help_text="Prefix of the new ops: notes makes notes.page.list. Lower-case words, joined by dots.",
    )
    name = forms.CharField(
        label="Name of the new connection",
        required=False,
        max_length=60,
        validators=[name_validator],
        widget=UnfoldAdminTextInputWidget,
        help_text="If empty, the group's.",
    )

    def __init__(self, *args: Any, row: DocumentImport, **kwargs: Any) -> None:
        connection = row.connection
        self.row, self.earlier = row, Selection()
        kwargs["initial"] = {"group": row.found.get("group", "")}
        if connection is not None and connection.import_group:
            self.earlier = import_document.read_selection(connection.import_selection)
            kwargs["initial"] = {"search": self.earlier.search, "group": connection.import_group}
        super().__init__(*args, **kwargs)
        if connection is not None:
            del self.fields["name"]

    def clean(self) -> dict[str, Any]:
        """Refuse a new connection with the name of another one."""
        cleaned = super().clean() or {}
        if "group" in cleaned:
            self.clean_names(cleaned["group"])
        if "name" in self.fields and "group" in cleaned:
            self.clean_name_of_new(cleaned)
        return cleaned

    def read_selection(self) -> Selection:
        """Return which tools were picked."""
        return Selection(search=self.cleaned_data["search"], without=self.read_without())

    def get_connection(self, row: DocumentImport) -> Connection:
        """Return the connection for the ops, which is not saved if it is new."""
        return row.connection or Connection(**row.found["connection"], name=self.cleaned_data["name"])


class PickForm(PickedOpsMixin):
    """Which operations become ops, in which group, and through which connection they run."""

    tags = forms.MultipleChoiceField(
        required=False, widget=UnfoldAdminCheckboxSelectMultipleWidget, help_text="Leave empty to import all."
    )
    methods = forms.MultipleChoiceField(
        required=False, widget=UnfoldAdminCheckboxSelectMultipleWidget, help_text="Leave empty to import all."
    )
    search = forms.CharField(
        label="Words",
        required=False,
        max_length=200,
        widget=UnfoldAdminTextInputWidget,
        help_text="Only operations with all of these words in the path, summary or description.",
    )
    include_deprecated = forms.BooleanField(
        label="Include deprecated operations", required=False, initial=True, widget=UnfoldBooleanWidget
    )
    group = forms.CharField(
        max_length=run_import.MAX_GROUP,
        widget=UnfoldAdminTextInputWidget(attrs={"placeholder": "crm"}),
        help_text="Prefix of the new ops: crm makes crm.contact.list. Lower-case words, joined by dots.",
    )
    connection = forms.ChoiceField(label="Run through", required=False, widget=UnfoldAdminSelectWidget)
    name = forms.CharField(
        label="Name of the new connection",
        required=False,
        max_length=60,
        validators=[name_validator],
        widget=UnfoldAdminTextInputWidget,
        help_text="If empty, the group's.",
    )
    base_url = forms.URLField(
        label="Base URL of the new connection",
        required=False,
        max_length=500,
        assume_scheme="https",
        widget=build_address_input(),
    )

    def __init__(self, *args: Any, row: DocumentImport, **kwargs: Any) -> None:
        kwargs.setdefault("initial", {})
        self.row, self.earlier, initial = row, *_read_last_import(row)
        kwargs["initial"] = initial | kwargs["initial"]
        super().__init__(*args, **kwargs)
        if not row.found.get("deprecated"):
            del self.fields["include_deprecated"]
        connections = Connection.objects.filter(kind=Connection.Kind.HTTP).values_list("name", flat=True)
        self._set_choices("tags", [(tag, f"{tag or UNTAGGED} ({count:,})") for tag, count in row.found["tags"]])
        self._set_choices("methods", [(method, f"{method} ({count:,})") for method, count in row.found["methods"]])
        self._set_choices("connection", [(NEW, "A new connection"), *((name, name) for name in connections)])

    def clean(self) -> dict[str, Any]:
        """Refuse a new connection without an address, or with the name of another one."""
        cleaned = super().clean() or {}
        if "group" in cleaned:
            self.clean_names(cleaned["group"])
        if cleaned.get("connection") == NEW and "group" in cleaned:
            if not cleaned.get("base_url") and "base_url" not in self.errors:
                self.add_error("base_url", "Enter the address of the service, such as https://api.example.com/v1.")
            self.clean_name_of_new(cleaned)
        return cleaned

    def read_selection(self) -> Selection:
        """Return which operations were picked."""
        data = self.cleaned_data
        deprecated = data.get("include_deprecated", True)
        return Selection(data["tags"], data["methods"], data["search"], deprecated, self.read_without())

    def get_connection(self, row: DocumentImport) -> Connection:
        """Return the connection for the ops, which is not saved if it is new."""
        data = self.cleaned_data
        if data["connection"] != NEW:
            return Connection.objects.get(name=data["connection"])
        own = {"name": data["name"], "kind": Connection.Kind.HTTP, "base_url": data["base_url"]}
        return Connection(**row.found["connection"] | own)

    def _set_choices(self, name: str, choices: list[tuple[str, str]]) -> None:
        self.fields[name].choices = choices  # type: ignore[attr-defined]  # a ChoiceField


def _read_last_import(row: DocumentImport) -> tuple[Selection, dict[str, Any]]:
    """Return what was picked last time, if the document was imported before, and what the form starts with."""
    earlier = Connection.objects.filter(name=row.found.get("earlier", "")).first()
    initial = {"base_url": row.found["connection"]["base_url"], "group": row.found.get("group", "")}
    if earlier is None:
        return Selection(), initial
    selection = import_document.read_selection(earlier.import_selection)
    return selection, initial | {
        "tags": selection.tags,
        "methods": selection.methods,
        "search": selection.search,
        "include_deprecated": selection.include_deprecated,
        "group": earlier.import_group,
        "connection": earlier.name,
    }
