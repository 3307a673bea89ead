import sys

from django.apps import AppConfig
from django.db.backends.signals import connection_created

from core.database import connections


def import_drf_without_requests() -> None:
    """Import Django REST framework as if `requests` was not installed.

    It imports it for a test client: 5 MB of each process. It is installed because django-oauth-toolkit needs it.
    """
    if "requests" not in sys.modules:
        sys.modules["requests"] = None  # type: ignore[assignment]  # how Python marks what cannot be imported
        try:
            import rest_framework.compat  # noqa: F401
        finally:
            del sys.modules["requests"]


import_drf_without_requests()  # before the apps are ready, which import it


class WiringConfig(AppConfig):
    """Connects the packages at start. Must be the last app, because the table imports modules of all others."""

    name = "config"

    def ready(self) -> None:
        from config import wiring  # models can be imported only now
        from core.sign_in import second_factor

        connection_created.connect(connections.wait_fairly_for_locks)
        second_factor.connect()
        wiring.connect()
