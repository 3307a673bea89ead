from django.urls import path

from chat.api import conversations, stream

urlpatterns = [
    path("stream", stream.stream, name="chat_stream"),
    path("sessions", conversations.conversations, name="chat_sessions"),
    path("sessions/<uuid:session_id>", conversations.conversation, name="chat_session"),
    path("sessions/<uuid:session_id>/cancel", conversations.cancel, name="chat_cancel"),
    path("sessions/<uuid:session_id>/export", conversations.export, name="chat_export"),
    path("<path:path>", conversations.not_found),
]
