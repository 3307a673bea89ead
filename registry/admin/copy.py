"""Groups and prompt sections in the admin, and what all pages of copy share."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from registry.admin.history import Recorded
from registry.admin.previews import TextPreviewing
from registry.admin.switches import Switchable
from registry.models import Group, PromptSection, Switch


class CopyAdmin(Recorded):
    """What the pages of copy share: a history, the way to the review, and no deleting of what is shipped."""

    change_list_template = "registry/copy_list.html"

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        # A shipped row that is gone would come back with the next upgrade; retiring it lasts.
        return super().has_delete_permission(request, obj) and (obj is None or obj.shipped is None)


@admin.register(Group)
class GroupAdmin(CopyAdmin, Switchable, TextPreviewing):
    is_gone_to = True
    switch_kind, switch_name = Switch.Kind.GROUP, "path"
    list_display = ["path", "summary", "updated_at"]
    search_fields = ["path", "summary"]


@admin.register(PromptSection)
class PromptSectionAdmin(CopyAdmin, TextPreviewing):
    list_display = ["title", "prompt", "name", "position", "status", "updated_at"]
    list_filter = ["prompt", "status"]
    search_fields = ["prompt", "name", "title", "text"]
    fieldsets = [
        ("What the model reads", {"fields": ["title", "text"]}),
        ("Where it stands", {"fields": ["prompt", "position", "name", "status"]}),
    ]
