"""The admin pages of daily figures and of the job that counts them."""

from django.contrib import admin

from analytics.rollups.models import OpDaily, Rollup
from console.log_lists import LogAdmin


@admin.register(OpDaily)
class OpDailyAdmin(LogAdmin):
    empty = "Calls are counted every minute. The latest ones are in the list of events."
    date_hierarchy = "day"
    list_display = ["day", "op", "calls", "invalid", "denied", "not_found", "conflict", "internal", "is_settled"]
    list_filter = ["day", "release"]
    search_fields = ["op"]


@admin.register(Rollup)
class RollupAdmin(LogAdmin):
    empty = "Servers count events every minute. To count them now, run manage.py run_jobs."
    date_hierarchy = "counted_at"
    list_display = ["name", "settled_until", "counted_at"]
    search_fields = ["name"]
