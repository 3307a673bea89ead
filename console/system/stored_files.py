"""Admin list of stored files, without their content."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from core.admin import base
from gateway.models import StoredFile


@admin.register(StoredFile)
class StoredFileAdmin(base.ReadOnlyMixin, base.ModelAdmin[StoredFile]):
    empty = "Files that ops return are stored here until they expire. No op has returned one."
    list_display = ["name", "client", "subject", "content_type", "size", "created_at", "expires_at"]
    list_filter = ["client"]
    list_select_related = ["client"]
    search_fields = ["name", "subject"]
    fields = ["id", "name", "client", "subject", "content_type", "size", "created_at", "expires_at"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[StoredFile]:
        return super().get_queryset(request).defer("content")
