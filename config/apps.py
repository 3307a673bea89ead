from django.apps import AppConfig


class WiringConfig(AppConfig):
    """Connects the packages at start. Must be the last app, because the table imports modules of all others."""

    name = "config"

    def ready(self) -> None:
        from config import wiring  # models can be imported only now

        wiring.connect()
