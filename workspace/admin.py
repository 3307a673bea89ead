"""Console pages of the workspace: look up, repair and restore rows."""

from typing import Any, cast
from uuid import UUID

from django.contrib import admin, messages
from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import escape

from core.admin import base
from workspace.entity_types import (
    CALENDAR,
    DOCUMENT,
    EVENT,
    GOAL,
    MILESTONE,
    PLAN,
    PROJECT,
    REQUIREMENT,
    RISK,
    TASK,
    EntityType,
)
from workspace.models import (
    CalendarEvent,
    Document,
    Edge,
    Entity,
    Goal,
    Membership,
    Milestone,
    Plan,
    Profile,
    Project,
    ProjectCalendar,
    Requirement,
    Risk,
    Task,
    WriteRecord,
)
from workspace.services.calendar import task_events
from workspace.services.documents import tree
from workspace.services.entities import changes

DELETED_FILTER = ("deleted_at", admin.EmptyFieldListFilter)


class EntityAdmin(base.ModelAdmin[Any]):
    """Base of all entity admins. Delete is an action that soft-deletes, so rows can be restored."""

    empty = "Models create these with workspace ops. Run manage.py load_demo for sample data."
    kind: EntityType
    deferred_column: str | None = None  # a long text that the change list does not load
    list_filter = ["state_key", DELETED_FILTER]
    ordering = ["-updated_at", "-id"]
    actions = ["delete_softly", "restore"]
    show_full_result_count = False

    def get_fields(self, request: HttpRequest, obj: Entity | None = None) -> tuple[str, ...]:
        """Return the label first, as the ops do, and the read-only fields last."""
        columns = [self.model._meta.get_field(name).name for name in self.kind.fields]
        project_field = [] if self.kind is PROJECT else ["project"]
        other_fields = [column.name for column in self.model._meta.fields if column.editable]  # not in kind.fields
        readonly = self.get_readonly_fields(request, obj)
        editable = [
            name for name in (*columns[:1], *project_field, *columns[1:], *other_fields) if name not in readonly
        ]
        return tuple(dict.fromkeys([*editable, *readonly]))

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        # Django's admin renders help as HTML, but help texts are plain text: <kind> is not a tag.
        kwargs["help_text"] = escape(db_field.help_text)
        return super().formfield_for_dbfield(db_field, request, **kwargs)

    def get_readonly_fields(self, request: HttpRequest, obj: Entity | None = None) -> list[str]:
        """Return the columns that services set: those of every entity and this type's completion time."""
        stamp_columns = self.kind.completion_stamp[1:] if self.kind.completion_stamp else ()
        return ["id", *stamp_columns, "created_by", "created_at", "updated_at", "deleted_at"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Entity]:
        rows = super().get_queryset(request)
        return rows.defer(self.deferred_column) if self.deferred_column else rows

    def has_delete_permission(self, request: HttpRequest, obj: Entity | None = None) -> bool:
        return False

    def save_model(self, request: HttpRequest, obj: Entity, form: Any, change: bool) -> None:
        now = timezone.now()
        if not change:
            obj.created_by = request.user.get_username()
        obj.updated_at = now
        changes.update_completion_stamp(obj, kind=self.kind, at=now)
        super().save_model(request, obj, form, change)

    @admin.action(description="Delete the selected rows (they can be restored)", permissions=["change"])
    def delete_softly(self, request: HttpRequest, queryset: QuerySet[Entity]) -> None:
        count = queryset.filter(deleted_at=None).update(deleted_at=timezone.now())
        self.message_user(request, f"{count} deleted. Ops no longer find them; use Restore to undo.")

    @admin.action(description="Restore the selected rows", permissions=["change"])
    def restore(self, request: HttpRequest, queryset: QuerySet[Entity]) -> None:
        try:
            with transaction.atomic():
                count = queryset.exclude(deleted_at=None).update(deleted_at=None)
        except IntegrityError:
            message = "Nothing was restored: a newer row replaces one of these. Delete the newer row first."
            self.message_user(request, message, level=messages.ERROR)
            return
        self.message_user(request, f"{count} restored.")


class MembershipInline(base.TabularInline[Membership, Project]):
    model = Membership
    fields = ["subject", "role", "deleted_at"]
    can_delete = False


@admin.register(Project)
class ProjectAdmin(EntityAdmin):
    kind = PROJECT
    deferred_column = "context"
    list_display = ["name", "state_key", "type_key", "created_by", "updated_at", "deleted_at"]
    search_fields = ["id", "name", "description", "tags", "memberships__subject"]
    inlines = [MembershipInline]

    def save_model(self, request: HttpRequest, obj: Entity, form: Any, change: bool) -> None:
        """Save the form, but keep the current tree_version: a document may have moved since the row was read."""
        if change:
            tree.lock_tree(obj.pk)
            obj.refresh_from_db(fields=["tree_version"])
        super().save_model(request, obj, form, change)


@admin.register(Task)
class TaskAdmin(EntityAdmin):
    kind = TASK
    list_display = ["title", "project", "state_key", "priority", "due_at", "updated_at", "deleted_at"]
    list_filter = ["state_key", "priority", "recurrence", DELETED_FILTER]
    search_fields = ["id", "title", "project__name"]
    autocomplete_fields = ["project", "parent_task"]
    list_select_related = ["project"]

    def save_model(self, request: HttpRequest, obj: Task, form: Any, change: bool) -> None:  # type: ignore[override]  # tasks only
        super().save_model(request, obj, form, change)
        task_events.move_events([obj.pk], project=obj.project_id)
        task_events.sync_events([obj], by=obj.created_by, at=obj.updated_at)


@admin.register(Document)
class DocumentAdmin(EntityAdmin):
    kind = DOCUMENT
    deferred_column = "content"
    list_display = ["title", "project", "state_key", "type_key", "updated_at", "deleted_at"]
    search_fields = ["id", "title", "project__name"]
    autocomplete_fields = ["project"]
    list_select_related = ["project"]

    def get_readonly_fields(self, request: HttpRequest, obj: Entity | None = None) -> list[str]:
        """Return its place in the tree as read-only, because only the ops check for cycles and for other projects."""
        return [*super().get_readonly_fields(request, obj), "parent", "position", *(["project"] if obj else [])]

    def save_model(self, request: HttpRequest, obj: Entity, form: Any, change: bool) -> None:
        """Save a new document last at the root. A changed document keeps its current place."""
        project = tree.lock_tree(cast("Document", obj).project_id)
        if change:
            obj.refresh_from_db(fields=["parent", "position", "deleted_at"])
        super().save_model(request, obj, form, change)
        if not change:
            tree.increment_version(project)

    @admin.action(description="Delete the selected rows and those below (can be restored)", permissions=["change"])
    @transaction.atomic
    def delete_softly(self, request: HttpRequest, queryset: QuerySet[Entity]) -> None:
        count = tree.delete_documents(_get_ids(queryset), at=timezone.now())
        self.message_user(request, f"{count} deleted. Ops no longer find them; use Restore to undo.")

    @admin.action(description="Restore the selected rows", permissions=["change"])
    @transaction.atomic
    def restore(self, request: HttpRequest, queryset: QuerySet[Entity]) -> None:
        count, moved_count = tree.restore_documents(_get_ids(queryset))
        moved_note = f" {moved_count} of them at the root, because their parent is deleted." if moved_count else ""
        self.message_user(request, f"{count} restored.{moved_note}")


def _get_ids(rows: QuerySet[Entity]) -> list[UUID]:
    return list(rows.values_list("pk", flat=True))


@admin.register(Goal)
class GoalAdmin(EntityAdmin):
    kind = GOAL
    list_display = ["name", "project", "state_key", "priority", "target_date", "updated_at", "deleted_at"]
    list_filter = ["state_key", "priority", DELETED_FILTER]
    search_fields = ["id", "name", "project__name"]
    autocomplete_fields = ["project"]
    list_select_related = ["project"]


@admin.register(Plan)
class PlanAdmin(EntityAdmin):
    kind = PLAN
    list_display = ["name", "project", "state_key", "start_date", "end_date", "updated_at", "deleted_at"]
    search_fields = ["id", "name", "project__name"]
    autocomplete_fields = ["project"]
    list_select_related = ["project"]


@admin.register(Milestone)
class MilestoneAdmin(EntityAdmin):
    kind = MILESTONE
    list_display = ["title", "project", "state_key", "due_at", "updated_at", "deleted_at"]
    search_fields = ["id", "title", "project__name"]
    autocomplete_fields = ["project"]
    list_select_related = ["project"]


@admin.register(Risk)
class RiskAdmin(EntityAdmin):
    kind = RISK
    list_display = ["title", "project", "state_key", "impact", "probability", "updated_at", "deleted_at"]
    list_filter = ["state_key", "impact", DELETED_FILTER]
    search_fields = ["id", "title", "project__name"]
    autocomplete_fields = ["project"]
    list_select_related = ["project"]


@admin.register(Requirement)
class RequirementAdmin(EntityAdmin):
    kind = REQUIREMENT
    list_display = ["text", "project", "type_key", "priority", "updated_at", "deleted_at"]
    list_filter = ["priority", DELETED_FILTER]
    search_fields = ["id", "text", "project__name"]
    autocomplete_fields = ["project"]
    list_select_related = ["project"]


@admin.register(CalendarEvent)
class CalendarEventAdmin(EntityAdmin):
    """Events of all calendars. If an event shows a task's date, change the date on the task."""

    kind = EVENT
    list_display = ["title", "subject", "project", "start_at", "start_date", "recurrence", "updated_at", "deleted_at"]
    list_filter = ["recurrence", "task_event_kind", DELETED_FILTER]
    search_fields = ["id", "title", "subject", "project__name"]
    autocomplete_fields = ["project", "task"]
    list_select_related = ["project"]

    def get_readonly_fields(self, request: HttpRequest, obj: Entity | None = None) -> list[str]:
        task_columns = [
            "task",
            "project",
            "subject",
            *(name for name in task_events.DERIVED_COLUMNS if name != "project"),
        ]
        shows_task_date = isinstance(obj, CalendarEvent) and obj.task_event_kind
        names = [
            *super().get_readonly_fields(request, obj),
            "task_event_kind",
            *(task_columns if shows_task_date else ()),
        ]
        return list(dict.fromkeys(names))

    @admin.action(description="Delete the selected events (skips events of task dates)", permissions=["change"])
    def delete_softly(self, request: HttpRequest, queryset: QuerySet[Entity]) -> None:
        super().delete_softly(request, queryset.filter(Q(("task_event_kind", ""))))

    @admin.action(description="Restore the selected events (skips events of task dates)", permissions=["change"])
    def restore(self, request: HttpRequest, queryset: QuerySet[Entity]) -> None:
        super().restore(request, queryset.filter(Q(("task_event_kind", ""))))


@admin.register(ProjectCalendar)
class ProjectCalendarAdmin(EntityAdmin):
    kind = CALENDAR
    list_display = ["name", "project", "color_id", "sync_enabled", "updated_at", "deleted_at"]
    list_filter = ["color_id", "sync_enabled", DELETED_FILTER]
    search_fields = ["id", "name", "project__name"]
    autocomplete_fields = ["project"]
    list_select_related = ["project"]


@admin.register(Edge)
class EdgeAdmin(base.ReadOnlyMixin, base.ModelAdmin[Edge]):
    """Read-only: only the ops check which edges are valid."""

    empty = "Models create edges with onto.edge.link. Run manage.py load_demo for sample data."
    list_display = ["__str__", "project", "created_by", "created_at", "deleted_at"]
    fields = readonly_fields = tuple(field.name for field in Edge._meta.fields)
    list_filter = ["src_kind", "dst_kind", DELETED_FILTER]
    search_fields = ["id", "src_id", "dst_id", "rel", "project__name"]
    list_select_related = ["project"]
    ordering = ["-created_at", "-id"]
    show_full_result_count = False


@admin.register(WriteRecord)
class WriteRecordAdmin(base.ReadOnlyMixin, base.ModelAdmin[WriteRecord]):
    """Read-only: a user undoes a write with onto.history.undo."""

    empty = "No writes in the last seven days."
    list_display = ["summary", "subject", "tool_name", "at", "undone_at"]
    fields = readonly_fields = tuple(field.name for field in WriteRecord._meta.fields)
    list_filter = ["tool_name"]
    search_fields = ["=id", "=subject", "=entity_id"]
    ordering = ["-id"]
    show_full_result_count = False


@admin.register(Membership)
class MembershipAdmin(base.ModelAdmin[Membership]):
    """A member who leaves gets deleted_at, so each subject has one row in a project."""

    empty = "No members yet. A project's creator becomes its first member; add others here."
    list_display = ["subject", "project", "role", "created_at", "deleted_at"]
    list_filter = ["role", DELETED_FILTER]
    search_fields = ["subject", "project__name"]
    readonly_fields = ["created_at"]
    autocomplete_fields = ["project"]
    list_select_related = ["project"]
    show_full_result_count = False

    def has_delete_permission(self, request: HttpRequest, obj: Membership | None = None) -> bool:
        return False


@admin.register(Profile)
class ProfileAdmin(base.ModelAdmin[Profile]):
    """The only place where profiles are edited. Deleting is permanent, so that a subject can be erased."""

    empty = "A profile tells models a user's name and time zone. Add one for a subject."
    list_display = ["subject", "name", "time_zone", "updated_at"]
    search_fields = ["subject", "name", "time_zone"]
    readonly_fields = ["id", "created_at", "updated_at"]
    ordering = ["subject"]
    show_full_result_count = False

    def save_model(self, request: HttpRequest, obj: Profile, form: Any, change: bool) -> None:
        obj.updated_at = timezone.now()
        super().save_model(request, obj, form, change)
