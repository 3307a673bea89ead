"""Admin list of notifications: which messages went out, and why some did not."""

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from analytics.models import Notification
from analytics.notifications import delivery, outbox
from console.log_lists import LogAdmin


@admin.register(Notification)
class NotificationAdmin(LogAdmin):
    empty = "No messages yet. Reviews and scheduled publishing send them, if EMAIL_URL or GATEWAY_NOTIFY_URL is set."
    date_hierarchy = "created_at"
    list_display = ["created_at", "subject", "target", "state", "attempts", "last_error", "sent_at"]
    list_display_links = ["created_at", "subject"]
    list_filter = ["state", "channel", "event"]
    search_fields = ["subject", "recipient", "by"]
    fields = [
        *("subject", "text", "link", ("channel", "target"), ("event", "by"), ("state", "attempts", "next_try_at")),
        *("last_error", ("created_at", "sent_at")),
    ]
    readonly_fields = ["target"]
    actions = ["send_again"]

    def has_send_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("analytics.change_notification")

    @admin.display(description="To", ordering="recipient")
    def target(self, notification: Notification) -> str:
        return notification.recipient or "webhook"

    @admin.action(description="Send the failed ones again", permissions=["send"])
    def send_again(self, request: HttpRequest, queryset: QuerySet[Notification]) -> None:
        at = timezone.now()
        count = sum(delivery.send_again(notification, at=at) for notification in queryset)
        outbox.wake_worker()
        self.message_user(
            request,
            f"To be sent again: {count}. Others were sent or are waiting already.",
            messages.SUCCESS if count else messages.WARNING,
        )
