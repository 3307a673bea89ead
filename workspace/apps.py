from django.apps import AppConfig
from django.db import connection
from django.db.backends.signals import connection_created

from workspace.services.search import search


class WorkspaceConfig(AppConfig):
    name = "workspace"
    verbose_name = "Workspace"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Install the SQL function that searches call on every new connection to SQLite."""
        if connection.vendor == "sqlite":
            connection_created.connect(search.install_sqlite_function, dispatch_uid="workspace.matching")
