"""What the chat declares. A team can remove it."""

from datetime import timedelta

from chat.conversations import retention
from core.manifest import Job, Manifest, ModelList

MANIFEST = Manifest(
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
    tabs={"Users": [ModelList("Chat profiles", "chat.Profile")]},
)
