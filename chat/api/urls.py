from django.urls import path

from chat.api import ag_ui, ai_sdk, conversations, files, stream

urlpatterns = [
    path("stream", stream.stream, name="chat_stream"),
    path("sessions", conversations.list_conversations, name="chat_sessions"),
    path("sessions/<uuid:session_id>", conversations.handle_conversation, name="chat_session"),
    path("sessions/<uuid:session_id>/cancel", conversations.cancel_turn, name="chat_cancel"),
    path("sessions/<uuid:session_id>/version", conversations.show_version, name="chat_version"),
    path("sessions/<uuid:session_id>/export", conversations.export_conversation, name="chat_export"),
    path("files", files.upload_file, name="chat_files"),
    path("suggestions", conversations.list_suggestions, name="chat_suggestions"),
    path("sessions/<uuid:session_id>/messages/<uuid:message_id>/feedback", conversations.rate_answer, name="chat_rate"),
    path("ag-ui", ag_ui.run_agent, name="chat_ag_ui"),
    path("ai-sdk", ai_sdk.send_message, name="chat_ai_sdk"),
    path("ai-sdk/<str:chat_id>/stream", ai_sdk.reconnect, name="chat_ai_sdk_reconnect"),
    path("<path:path>", conversations.not_found),
]
