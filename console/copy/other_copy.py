"""The pages of groups, prompt sections, agents and pins, and the base of all pages of copy."""

from typing import Any

from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html

from console import diff_view
from console.access.switches import SwitchableMixin
from console.copy.history import TrackedChangesMixin
from console.copy.preview import TextPreviewMixin
from registry.models import Agent, Group, Pin, PromptSection, Switch

ANY = "*"  # in a pin's context or model family


class CopyAdmin(TrackedChangesMixin):
    """Base of all pages of copy: history, a link to the review, and no deleting of shipped rows."""

    change_list_template = "console/copy/copy_list.html"

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        # A deleted shipped row would come back with the next upgrade. Retire it instead.
        return super().has_delete_permission(request, obj) and (obj is None or obj.shipped is None)

    def response_add(self, request: HttpRequest, obj: Any, *args: Any, **kwargs: Any) -> HttpResponse:
        vars(request)["is_saving_copy"] = True
        response = super().response_add(request, obj, *args, **kwargs)
        self._add_publish_reminder(request)
        return response

    def response_change(self, request: HttpRequest, obj: Any) -> HttpResponse:
        vars(request)["is_saving_copy"] = True
        response = super().response_change(request, obj)
        self._add_publish_reminder(request)
        return response

    def message_user(self, request: HttpRequest, message: Any, level: Any = messages.INFO, *args: Any) -> None:
        """Leave out Django's message that the row was saved: the reminder says more."""
        if not (level == messages.SUCCESS and "is_saving_copy" in vars(request)):
            super().message_user(request, message, level, *args)

    def _add_publish_reminder(self, request: HttpRequest) -> None:
        message = format_html("Saved in the draft. {}", diff_view.build_review_link(request))
        self.message_user(request, message, messages.INFO)


@admin.register(Group)
class GroupAdmin(CopyAdmin, SwitchableMixin, TextPreviewMixin):
    empty = "Groups contain ops. Load the shipped ones with manage.py load_catalog, import files, or add one."
    go_to_order = 2
    switch_kind, switch_name = Switch.Kind.GROUP, "path"
    list_display = ["path", "summary", "discovery_name", "off", "updated_at"]
    list_filter = [("discovery_name", admin.EmptyFieldListFilter)]
    search_fields = ["path", "summary", "discovery_name"]


@admin.register(PromptSection)
class PromptSectionAdmin(CopyAdmin, TextPreviewMixin):
    empty = "Sections make up a prompt. Load the shipped ones with manage.py load_catalog, import files, or add one."
    list_display = ["title", "prompt", "name", "position", "status", "updated_at"]
    list_filter = ["prompt", "status"]
    search_fields = ["prompt", "name", "title", "text"]
    fieldsets = [
        ("Text", {"fields": ["title", "text"]}),
        ("Placement", {"fields": ["prompt", "position", "name", "status"]}),
    ]


@admin.register(Agent)
class AgentAdmin(CopyAdmin, TextPreviewMixin):
    empty = (
        "Agents are roles for one task. Load the shipped ones with manage.py load_catalog, import files, or add one."
    )
    line_lists = {"ops": 200, "constraints": 500, "examples": 500, "edge_cases": 500}
    list_display = ["name", "summary", "is_read_only", "status", "updated_at"]
    list_filter = ["status", "is_read_only"]
    search_fields = ["name", "summary", "description", "when_to_use", "system_prompt"]
    go_to_order = 3
    fieldsets = [
        ("What the main model reads", {"fields": ["name", "summary", "description", "when_to_use", "constraints"]}),
        ("What the agent may do", {"fields": ["ops", "is_read_only", "status"]}),
        ("What the agent reads", {"fields": ["system_prompt", "examples", "edge_cases"]}),
    ]


@admin.register(Pin)
class PinAdmin(CopyAdmin, TextPreviewMixin):
    empty = "Pins are ops that a surface shows as separate tools. Import files, or add one."
    line_lists = {"ops": 200}
    list_display = ["surface", "any_context", "any_family", "pinned_ops", "max_tokens", "updated_at"]
    list_display_links = ["surface", "any_context"]
    list_filter = ["surface", "context", "model_family"]
    search_fields = ["ops"]
    fieldsets = [
        ("Where", {"fields": ["surface", "context", "model_family"]}),
        ("What", {"fields": ["ops", "max_tokens"]}),
    ]

    @admin.display(description="context", ordering="context")
    def any_context(self, pin: Pin) -> str:
        return "any" if pin.context == ANY else pin.context

    @admin.display(description="model family", ordering="model_family")
    def any_family(self, pin: Pin) -> str:
        return "any" if pin.model_family == ANY else pin.model_family

    @admin.display(description="Ops")
    def pinned_ops(self, pin: Pin) -> str:
        return ", ".join(pin.ops)
