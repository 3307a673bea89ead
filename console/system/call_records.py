"""Read-only admin pages for idempotency records, batches and periodic jobs."""

from django.contrib import admin

from core.admin import base
from gateway.models import Batch, BatchEntry, IdempotencyRecord, PeriodicJob, UsedConfirmation


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


class BatchEntryInline(base.ReadOnlyMixin, base.TabularInline[BatchEntry, Batch]):
    model = BatchEntry
    fields = ["index", "type", "name", "needs", "state", "outcome", "attempts", "finished_at"]  # no user data


@admin.register(Batch)
class BatchAdmin(base.ReadOnlyMixin, base.ModelAdmin[Batch]):
    empty = "Send several calls at once to /api/v1/batch. Each batch is listed until its results expire."
    list_display = ["id", "client", "subject", "mode", "created_at", "runs_until", "cancelled_at"]
    list_filter = ["mode", ("cancelled_at", admin.EmptyFieldListFilter)]
    list_select_related = ["client"]
    search_fields = ["id", "trace_id", "subject"]
    exclude = ["caller"]
    show_full_result_count = False
    inlines = [BatchEntryInline]


@admin.register(BatchEntry)
class BatchEntryAdmin(base.ReadOnlyMixin, base.ModelAdmin[BatchEntry]):
    empty = "Send several calls at once to /api/v1/batch. Each entry is listed until its result expires."
    list_display = ["batch", "index", "type", "name", "state", "outcome", "attempts", "held_until", "finished_at"]
    list_filter = ["state", "outcome", "type"]
    search_fields = ["name", "batch__trace_id", "batch__subject"]
    exclude = ["body", "answer"]
    show_full_result_count = False


@admin.register(PeriodicJob)
class PeriodicJobAdmin(base.ReadOnlyMixin, base.ModelAdmin[PeriodicJob]):
    empty = "No server has run a job yet. Start one, or run manage.py run_jobs."
    list_display = ["name", "next_run"]
    search_fields = ["name"]
