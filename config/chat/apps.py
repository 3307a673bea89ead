import warnings

from django.apps import AppConfig

from core.database import column_cache, connections


class ChatWiringConfig(AppConfig):
    """What the chat's process needs at start."""

    name = "config"
    label = "config_chat"

    def ready(self) -> None:
        from core.sign_in import second_factor  # models can be imported only now

        second_factor.connect()
        connections.install_waiting()
        column_cache.install()
        # Static files: WhiteNoise sends them from synchronous iterators. They are small.
        warnings.filterwarnings("ignore", message="StreamingHttpResponse must consume synchronous iterators")
