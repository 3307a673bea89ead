from django.apps import AppConfig


class ChatConfig(AppConfig):
    """The reference chat service."""

    name = "chat"
