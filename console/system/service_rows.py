"""Rows that the service keeps for itself, for support: calls, files, rollups, notifications."""

from django.contrib import admin, messages
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone

from analytics.events.models import EventLoss
from analytics.rollups.models import OpDaily, Rollup
from console.log_pages import RELEASE_FILTER, LogAdmin
from core.admin import base
from gateway.jobs import late_jobs
from gateway.models import (
    Batch,
    BatchEntry,
    IdempotencyRecord,
    PendingInput,
    PeriodicJob,
    StoredFile,
    TurnLabel,
    UsedConfirmation,
)
from notifications import delivery, outbox
from notifications.models import Notification
from registry.models import OpEmbedding


@admin.register(IdempotencyRecord)
class IdempotencyRecordAdmin(base.ReadOnlyMixin, base.ModelAdmin[IdempotencyRecord]):
    empty = "Send a write with an idempotency_key. Its answer is stored here until the key expires."
    # Read-only: deleting a record would let a repeated call write twice.
    list_display = ["key", "op", "state", "status", "client", "subject", "created_at", "expires_at"]
    list_select_related = ["client"]
    search_fields = ["key", "op", "trace_id", "subject"]
    exclude = ["answer"]  # contains end users' data
    show_full_result_count = False


@admin.register(UsedConfirmation)
class UsedConfirmationAdmin(base.ReadOnlyMixin, base.ModelAdmin[UsedConfirmation]):
    empty = "Run an op that asks for confirmation. Each token that confirmed a call is listed for an hour."
    # Read-only: deleting a row would let its token confirm another call.
    list_display = ["op", "client", "trace_id", "used_at"]
    list_select_related = ["client"]
    search_fields = ["op", "trace_id"]
    show_full_result_count = False


@admin.register(TurnLabel)
class TurnLabelAdmin(base.ReadOnlyMixin, base.ModelAdmin[TurnLabel]):
    empty = "No call has brought in a label of data flow that a rule looks for."
    list_display = ["label", "connection", "op", "trace_id", "brought_at"]
    list_filter = ["label"]
    search_fields = ["op", "trace_id"]


@admin.register(PendingInput)
class PendingInputAdmin(base.ReadOnlyMixin, base.ModelAdmin[PendingInput]):
    empty = "No service has asked an end user for input. Each question is listed here until it expires."
    list_display = ["op", "client", "subject", "trace_id", "created_at", "expires_at", "answered_at"]
    list_filter = [("answered_at", admin.EmptyFieldListFilter)]
    list_select_related = ["client"]
    search_fields = ["op", "trace_id", "subject"]
    exclude = ["waiting_call"]
    show_full_result_count = False


class BatchEntryInline(base.ReadOnlyMixin, base.TabularInline[BatchEntry, Batch]):
    model = BatchEntry
    fields = ["index", "type", "name", "needs", "state", "outcome", "attempts", "finished_at"]  # no user data


@admin.register(Batch)
class BatchAdmin(base.ReadOnlyMixin, base.ModelAdmin[Batch]):
    empty = "Send several calls in one request to /api/v1/batch. Each batch is listed until its results expire."
    list_display = ["id", "client", "subject", "mode", "created_at", "runs_until", "cancelled_at"]
    list_filter = ["mode", ("cancelled_at", admin.EmptyFieldListFilter)]
    list_select_related = ["client"]
    search_fields = ["id", "trace_id", "subject"]
    exclude = ["caller"]
    show_full_result_count = False
    inlines = [BatchEntryInline]


@admin.register(BatchEntry)
class BatchEntryAdmin(base.ReadOnlyMixin, base.ModelAdmin[BatchEntry]):
    empty = "Send several calls in one request to /api/v1/batch. Each entry is listed until its result expires."
    list_display = ["batch", "index", "type", "name", "state", "outcome", "attempts", "held_until", "finished_at"]
    list_filter = ["state", "outcome", "type"]
    search_fields = ["name", "batch__trace_id", "batch__subject"]
    exclude = ["body", "answer", "progress"]
    show_full_result_count = False


@admin.register(PeriodicJob)
class PeriodicJobAdmin(base.ReadOnlyMixin, base.ModelAdmin[PeriodicJob]):
    empty = "No process has run a job yet. Start manage.py run_jobs --forever."
    list_display = ["name", "held_until", "state"]
    search_fields = ["name"]

    @admin.display(description="state")
    def state(self, job: PeriodicJob) -> str:
        if job.held_until < timezone.now() - late_jobs.LATE_AFTER:
            return "late"
        return "running" if job.holder else ""


@admin.register(Notification)
class NotificationAdmin(LogAdmin):
    empty = "No messages yet. Alerts, reviews and schedules send them, once e-mail or a webhook is set up."
    date_hierarchy = "created_at"
    list_display = ["created_at", "subject", "target", "state", "attempts", "last_error", "sent_at"]
    list_display_links = ["created_at", "subject"]
    list_filter = ["state", "channel", "event"]
    search_fields = ["subject", "recipient", "by"]
    fields = [
        "subject",
        "text",
        "details",
        "link",
        ("channel", "target"),
        ("event", "by"),
        ("state", "attempts", "held_until"),
        "last_error",
        ("created_at", "sent_at"),
    ]
    readonly_fields = ["target"]
    actions = ["send_again"]

    def has_send_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("notifications.change_notification")

    @admin.display(description="To", ordering="recipient")
    def target(self, notification: Notification) -> str:
        return notification.target

    @admin.action(description="Send the failed ones again", permissions=["send"])
    def send_again(self, request: HttpRequest, queryset: QuerySet[Notification]) -> None:
        count = sum(delivery.send_again(notification) for notification in queryset)
        outbox.wake_worker()
        self.message_user(
            request,
            f"To be sent again: {count}. Others were sent or are waiting already.",
            messages.SUCCESS if count else messages.WARNING,
        )


class _NoVectorFilter(admin.EmptyFieldListFilter):
    """Django's filter would compare the vector with an empty text, which a binary column cannot be compared with."""

    def get_lookup_condition(self) -> Q:
        return Q(vector=None)


@admin.register(OpEmbedding)
class OpEmbeddingAdmin(base.ReadOnlyMixin, base.ModelAdmin[OpEmbedding]):
    empty = "Set SEARCH_EMBEDDINGS_URL. The text of each op is listed here once, first waiting, then with its vector."
    list_display = ["text_hash", "has_vector", "held_until", "refused_at", "used_at"]
    list_filter = [("vector", _NoVectorFilter), ("refused_at", admin.EmptyFieldListFilter)]
    search_fields = ["text_hash", "text"]
    exclude = ["vector"]
    show_full_result_count = False

    @admin.display(boolean=True, description="has a vector")
    def has_vector(self, row: OpEmbedding) -> bool:
        """Whether the endpoint has answered."""
        return row.vector is not None


@admin.register(OpDaily)
class OpDailyAdmin(LogAdmin):
    empty = "Calls are counted every minute. The latest ones are in the list of events."
    date_hierarchy = "day"
    list_display = ["day", "op", "calls", "invalid", "denied", "not_found", "conflict", "internal"]
    list_filter = ["day", RELEASE_FILTER]
    search_fields = ["op"]


@admin.register(Rollup)
class RollupAdmin(LogAdmin):
    empty = "A job counts events every minute. To count them now, run manage.py run_jobs."
    date_hierarchy = "counted_at"
    list_display = ["name", "last_id", "counted_at"]
    search_fields = ["name"]


@admin.register(EventLoss)
class EventLossAdmin(LogAdmin):
    shows_seconds = True
    empty = "No events were lost. If the database is away for long, some cannot be written."
    date_hierarchy = "time"
    list_display = ["time", "count"]
    search_fields = ["count"]


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
