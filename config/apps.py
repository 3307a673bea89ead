from django.apps import AppConfig
from django.db.backends.signals import connection_created

from core.database import connections


class WiringConfig(AppConfig):
    """Connects the packages at start. Must be the last app, because the table imports modules of all others."""

    name = "config"

    def ready(self) -> None:
        from config import wiring  # models can be imported only now
        from core.sign_in import second_factor

        connection_created.connect(connections.wait_fairly_for_locks)
        second_factor.connect()
        wiring.connect()
