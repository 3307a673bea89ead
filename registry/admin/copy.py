"""Groups and prompt sections in the admin, and what all pages of copy share."""

from typing import Any

from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.html import format_html

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

    def response_add(self, request: HttpRequest, obj: Any, *args: Any, **kwargs: Any) -> HttpResponse:
        response = super().response_add(request, obj, *args, **kwargs)
        self._tell_of_the_draft(request)
        return response

    def response_change(self, request: HttpRequest, obj: Any) -> HttpResponse:
        response = super().response_change(request, obj)
        self._tell_of_the_draft(request)
        return response

    def _tell_of_the_draft(self, request: HttpRequest) -> None:
        review = reverse("admin:registry_release_review")
        told = format_html(
            'Models read what is saved here once <a class="underline" href="{}">the draft is published</a>.', review
        )
        self.message_user(request, told, messages.INFO)


@admin.register(Group)
class GroupAdmin(CopyAdmin, Switchable, TextPreviewing):
    empty = "Ops lie in groups. Load the shipped ones with manage.py load_catalog, import files, or add one."
    is_gone_to = True
    switch_kind, switch_name = Switch.Kind.GROUP, "path"
    list_display = ["path", "summary", "off", "updated_at"]
    search_fields = ["path", "summary"]


@admin.register(PromptSection)
class PromptSectionAdmin(CopyAdmin, TextPreviewing):
    empty = "Sections make up a prompt. Load the shipped ones with manage.py load_catalog, import files, or add one."
    list_display = ["title", "prompt", "name", "position", "status", "updated_at"]
    list_filter = ["prompt", "status"]
    search_fields = ["prompt", "name", "title", "text"]
    fieldsets = [
        ("What the model reads", {"fields": ["title", "text"]}),
        ("Where it stands", {"fields": ["prompt", "position", "name", "status"]}),
    ]
