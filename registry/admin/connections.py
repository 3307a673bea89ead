"""Connections in the admin."""

from django.contrib import admin

from registry.admin.switches import Switchable
from registry.models import Connection, Switch


@admin.register(Connection)
class ConnectionAdmin(Switchable):
    switch_kind, switch_name = Switch.Kind.CONNECTION, "name"
    list_display = ["name", "kind"]
    ordering = ["name"]
    search_fields = ["name"]
