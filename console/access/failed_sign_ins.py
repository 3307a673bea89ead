"""Admin page of failed sign-ins, which also unlocks. Rows are deleted when they lock nothing any more."""

from datetime import datetime

from axes.models import AccessAttempt
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.template.defaultfilters import pluralize

from core.admin import base
from core.sign_in import throttle

# Not "access attempt" as in axes, whose rows are failures only.
AccessAttempt._meta.verbose_name, AccessAttempt._meta.verbose_name_plural = "failed sign-in", "failed sign-ins"


@admin.register(AccessAttempt)
class FailedSignInAdmin(base.ReadOnlyMixin, base.ModelAdmin[AccessAttempt]):
    empty = "No wrong passwords in the last 15 minutes. Older ones are in the log, as sign_in.failed."
    list_display = ["account", "address", "failures", "last_failure", "browser"]
    search_fields = ["username", "ip_address"]
    fields = ["account", "address", "failures", "last_failure", "browser"]  # not what was posted
    ordering = ["-attempt_time"]
    actions = ["unlock"]

    @admin.action(description="Unlock: forget these failures", permissions=["unlock"])
    def unlock(self, request: HttpRequest, queryset: QuerySet[AccessAttempt]) -> None:
        count = throttle.unlock(queryset, by=str(request.user))
        self.message_user(request, f"Unlocked: {count} row{pluralize(count)} of failures forgotten.")

    def has_unlock_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("axes.delete_accessattempt")

    @admin.display(description="User", ordering="username")
    def account(self, attempt: AccessAttempt) -> str:
        """Return the user name. Names that no user has are not stored."""
        return "No such user" if attempt.username.startswith(throttle.UNKNOWN_USER) else str(attempt.username)

    @admin.display(description="Address", ordering="ip_address")
    def address(self, attempt: AccessAttempt) -> str:
        return str(attempt.ip_address or "")

    @admin.display(description="Failures", ordering="failures_since_start")
    def failures(self, attempt: AccessAttempt) -> int:
        return int(attempt.failures_since_start)

    @admin.display(description="Last failure", ordering="attempt_time")
    def last_failure(self, attempt: AccessAttempt) -> datetime:
        at: datetime = attempt.attempt_time
        return at

    @admin.display(description="Browser")
    def browser(self, attempt: AccessAttempt) -> str:
        return str(attempt.user_agent)
