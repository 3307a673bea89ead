"""The workspace in the Django admin: to look things up, mend them, and bring back what was deleted."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from workspace.kinds import DOCUMENT, PROJECT, TASK, Kind
from workspace.models import Document, Entity, Membership, Project, Task
from workspace.services import changes


class EntityAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # Django's class is not generic at run time
    """What the admins of all entities share. Deleting is an action and soft, so that it can be taken back."""

    kind: Kind
    list_filter = ["state_key", ("deleted_at", admin.EmptyFieldListFilter)]
    ordering = ["-updated_at", "-id"]
    readonly_fields = ["id", "completed_at", "created_by", "created_at", "updated_at", "deleted_at"]
    actions = ["delete_softly", "restore"]
    show_full_result_count = False

    def has_delete_permission(self, request: HttpRequest, obj: Entity | None = None) -> bool:
        return False

    def save_model(self, request: HttpRequest, obj: Entity, form: Any, change: bool) -> None:
        at = timezone.now()
        if not change:
            obj.created_by = request.user.get_username()
        obj.updated_at = at
        changes.stamp(obj, kind=self.kind, at=at)
        super().save_model(request, obj, form, change)

    @admin.action(description="Delete the selected rows (they can be restored)", permissions=["change"])
    def delete_softly(self, request: HttpRequest, queryset: QuerySet[Entity]) -> None:
        number = queryset.filter(deleted_at=None).update(deleted_at=timezone.now())
        self.message_user(request, f"{number} deleted. No op finds them any more; Restore brings them back.")

    @admin.action(description="Restore the selected rows", permissions=["change"])
    def restore(self, request: HttpRequest, queryset: QuerySet[Entity]) -> None:
        number = queryset.exclude(deleted_at=None).update(deleted_at=None)
        self.message_user(request, f"{number} restored.")


class MembershipInline(admin.TabularInline):  # type: ignore[type-arg]  # Django's class is not generic at run time
    model = Membership
    fields = ["subject", "role", "deleted_at"]
    extra = 0
    can_delete = False


@admin.register(Project)
class ProjectAdmin(EntityAdmin):
    kind = PROJECT
    list_display = ["name", "state_key", "type_key", "created_by", "updated_at", "deleted_at"]
    search_fields = ["id", "name", "description", "memberships__subject"]
    inlines = [MembershipInline]


@admin.register(Task)
class TaskAdmin(EntityAdmin):
    kind = TASK
    list_display = ["title", "project", "state_key", "priority", "due_at", "updated_at", "deleted_at"]
    list_filter = ["state_key", "priority", ("deleted_at", admin.EmptyFieldListFilter)]
    search_fields = ["id", "title", "project__name"]
    autocomplete_fields = ["project"]
    list_select_related = ["project"]


@admin.register(Document)
class DocumentAdmin(EntityAdmin):
    kind = DOCUMENT
    list_display = ["title", "project", "state_key", "type_key", "updated_at", "deleted_at"]
    search_fields = ["id", "title", "project__name"]
    readonly_fields = ["id", "created_by", "created_at", "updated_at", "deleted_at"]
    autocomplete_fields = ["project"]
    list_select_related = ["project"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Document]:
        """Leave the content to the one page that shows it: a list of them would be megabytes."""
        return super().get_queryset(request).defer("content")


@admin.register(Membership)
class MembershipAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # Django's class is not generic at run time
    """Members leave by deleted_at, so that a subject keeps one row in a project."""

    list_display = ["subject", "project", "role", "created_at", "deleted_at"]
    list_filter = ["role", ("deleted_at", admin.EmptyFieldListFilter)]
    search_fields = ["subject", "project__name"]
    readonly_fields = ["created_at"]
    autocomplete_fields = ["project"]
    list_select_related = ["project"]
    show_full_result_count = False

    def has_delete_permission(self, request: HttpRequest, obj: Membership | None = None) -> bool:
        return False
