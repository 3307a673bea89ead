"""What the chat declares. A team can remove it."""

from datetime import timedelta
from urllib.parse import urlencode

from django.conf import settings
from django.contrib.auth.models import User

from chat.conversations import retention
from chat.models import Profile
from core.manifest import Job, Manifest, ModelList


def get_subject(user: User) -> str:
    """Return the subject of a user from the chat profile; empty without one.

    It is never the user name: another user may have it as subject.
    """
    return Profile.objects.filter(user=user).values_list("subject", flat=True).first() or ""


def get_page_url(message: str) -> str:
    """Return where people chat, with a message in the field if there is one. Without CHAT_URL, a proxy has it here."""
    url = settings.CHAT_URL or "/chat/"
    return f"{url}?{urlencode({'message': message})}" if message else url


MANIFEST = Manifest(
    row_finders=[retention.find_rows],
    subject_finders=[get_subject],
    chat_pages=[get_page_url],
    jobs=[
        Job("chat.delete_event_chunks", retention.delete_event_chunks, timedelta(minutes=1)),
        Job("chat.delete_conversations", retention.delete_conversations, timedelta(minutes=10)),
    ],
    areas={"chat": ["chat.profile", "chat.conversation", "chat.message", "chat.toolcall", "chat.eventchunk"]},
    settings=[
        "CHAT_MODEL_TIER",
        "CHAT_URL",
        "CHAT_GATEWAY_URL",
        "CHAT_GATEWAY_KEY",
        "CHAT_DAYS",
        "CHAT_FRAME_ANCESTORS",
    ],
    tab_pages={"Users": [ModelList("Chat profiles", "chat.Profile")]},
)
