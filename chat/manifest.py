"""What the chat offers: its jobs, the rows of a subject, and the subject of a user."""

from datetime import timedelta

from django.contrib.auth.models import User

from chat.conversations import retention
from chat.models import Profile
from core.manifest import Job, Manifest


def get_subject(user: User) -> str:
    """Return the subject of a user: that of the chat profile, empty without one.

    It is never the user name: another user may have it as subject.
    """
    return Profile.objects.filter(user=user).values_list("subject", flat=True).first() or ""


MANIFEST = Manifest(
    jobs=(
        Job(retention.delete_event_chunks, timedelta(minutes=1)),
        Job(retention.delete_conversations, timedelta(minutes=10)),
    ),
    find_rows=retention.find_rows,
    find_subject=get_subject,
)
