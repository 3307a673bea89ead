from django.urls import path

from chat.pages import connections_page, conversation_page, markdown_export, model_page, sign_in

urlpatterns = [
    path("", conversation_page.show_new, name="chat_page"),
    path("c/<uuid:session_id>/", conversation_page.show_conversation, name="chat_conversation"),
    path("c/<uuid:session_id>/markdown/", markdown_export.download_markdown, name="chat_markdown"),
    path("connections/", connections_page.open_connections, name="chat_connections"),
    path("model/", model_page.show_model, name="chat_model"),
    path("panel/", conversation_page.show_panel, name="chat_panel"),
    path("sign-in/", sign_in.ChatSignInView.as_view(), name="chat_sign_in"),
    path("sign-out/", sign_in.SignOutView.as_view(), name="chat_sign_out"),
]
