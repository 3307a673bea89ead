"""Admin list of the end users who have signed in to an upstream. Their tokens are never shown."""

from django.contrib import admin
from django.http import HttpRequest

from core.admin import base
from gateway.models import UserGrant


@admin.register(UserGrant)
class UserGrantAdmin(base.ModelAdmin[UserGrant]):
    empty = "No end user has signed in to an upstream. They do so when an op first needs it."
    list_display = ["subject", "connection", "expires_at", "created_at"]
    list_filter = ["connection"]
    list_select_related = ["connection"]
    search_fields = ["subject", "connection__name"]
    fields = ["subject", "connection", "scopes", "expires_at", "created_at", "updated_at"]
    has_history = False

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: UserGrant | None = None) -> bool:
        """Only deletion is allowed: the end user then has to sign in again."""
        return False
