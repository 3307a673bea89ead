"""End users of connections: what they may bring, and the accounts and keys that they brought."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from unfold.widgets import (
    UnfoldAdminIntegerFieldWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanSwitchWidget,
)

from core.admin import base
from gateway.credentials import end_user_settings, user_keys
from gateway.models import EndUserSettings, UserGrant, UserKey
from registry.models import Connection

_FIELDS = ("has_user_keys", "max_file_kb", "file_types")
_COLUMNS: Mapping[str, Any] = {name: EndUserSettings._meta.get_field(name) for name in _FIELDS}


class ConnectionForm(forms.ModelForm[Connection]):
    """The form of a connection, with what it takes from end users, which is stored in a row of its own."""

    has_user_keys = _COLUMNS["has_user_keys"].formfield(widget=UnfoldBooleanSwitchWidget())
    max_file_kb = _COLUMNS["max_file_kb"].formfield(
        required=False, validators=_COLUMNS["max_file_kb"].validators, widget=UnfoldAdminIntegerFieldWidget()
    )
    file_types = _COLUMNS["file_types"].formfield(
        validators=_COLUMNS["file_types"].validators, widget=UnfoldAdminTextInputWidget()
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        row = _find_settings(self.instance)
        self.initial = {**{name: getattr(row, name) for name in _FIELDS}, **self.initial}


def store_settings(connection: Connection, values: Mapping[str, Any]) -> None:
    """Store what a connection takes from end users. The process that shows the next page knows it immediately."""
    settings = {name: values[name] or _COLUMNS[name].get_default() for name in _FIELDS if name in values}
    row = _find_settings(connection)
    if any(getattr(row, name) != value for name, value in settings.items()):
        EndUserSettings.objects.update_or_create(connection=connection, defaults=settings)
    end_user_settings.refresh_settings()


def read_audit_values(connection: Connection) -> dict[str, Any]:
    """Return what the audit log keeps of the settings; nothing of the defaults."""
    row, defaults = _find_settings(connection), EndUserSettings()
    return {name: getattr(row, name) for name in _FIELDS if getattr(row, name) != getattr(defaults, name)}


def _find_settings(connection: Connection) -> EndUserSettings:
    rows = EndUserSettings.objects.filter(connection=connection) if connection.pk else EndUserSettings.objects.none()
    return rows.first() or EndUserSettings()


class _BroughtByUsersAdmin(base.ModelAdmin[Any]):
    """A list of what end users brought. Only deletion is allowed: the end user then has to bring it again."""

    list_filter = ["connection"]
    search_fields = ["subject", "connection__name"]
    has_history = False

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(UserGrant)
class UserGrantAdmin(_BroughtByUsersAdmin):
    empty = "No end user has signed in to an upstream. They do so when an op first needs it."
    list_display = ["subject", "connection", "expires_at", "created_at"]
    list_select_related = ["connection"]
    fields = ["subject", "connection", "scopes", "expires_at", "created_at", "updated_at"]


@admin.register(UserKey)
class UserKeyAdmin(_BroughtByUsersAdmin):
    empty = "No end user has entered a key. They do so when an op first needs it, if the connection takes own keys."
    list_display = ["subject", "client", "connection", "entered_at", "refused_at"]
    list_select_related = ["client", "connection"]
    fields = ["subject", "client", "connection", "entered_at", "refused_at"]

    def delete_model(self, request: HttpRequest, obj: UserKey) -> None:
        user_keys.record_deletion(obj, by=str(request.user), at=timezone.now())
        super().delete_model(request, obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[UserKey]) -> None:
        for row in queryset:
            user_keys.record_deletion(row, by=str(request.user), at=timezone.now())
        super().delete_queryset(request, queryset)
