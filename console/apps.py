from django.apps import AppConfig, apps
from django.db.models.signals import post_migrate


class ConsoleConfig(AppConfig):
    """Every page of the console, in one folder for each section of the sidebar."""

    name = "console"

    def ready(self) -> None:
        from console.access import roles

        # Each app creates its permissions in its own post_migrate, so all of them exist only at the last one.
        last = [app for app in apps.get_app_configs() if app.models_module is not None][-1]
        post_migrate.connect(roles.sync_groups, sender=last, dispatch_uid="console.access.roles.sync_groups")
