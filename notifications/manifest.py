"""What notifications declare."""

from datetime import timedelta

from core.manifest import Job, Manifest
from notifications import delivery

MANIFEST = Manifest(
    jobs=[
        Job("notifications.send", delivery.send_when_due, timedelta(seconds=30)),
        Job("notifications.delete_old", delivery.delete_old, timedelta(hours=1)),
    ],
    areas={"notifications": ["notifications.notification"]},
    settings=["EMAIL_URL", "EMAIL_FROM", "GATEWAY_NOTIFY_URL", "GATEWAY_NOTIFY_SECRET", "GATEWAY_NOTIFY_CHAT_URL"],
)
