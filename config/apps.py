from django.apps import AppConfig, apps
from django.db.models.signals import post_migrate, pre_migrate

from core.background import state_version
from core.database import column_cache, connections


class WiringConfig(AppConfig):
    """Connects the packages at start. Must be the last app, because the table imports modules of all others."""

    name = "config"

    def ready(self) -> None:
        from config import wiring  # models can be imported only now
        from core.sign_in import second_factor

        # Once for each run of migrate: the last app with models has the tables of all others.
        last = [app for app in apps.get_app_configs() if app.models_module is not None][-1]
        pre_migrate.connect(state_version.remove_before_migrations, sender=last)
        post_migrate.connect(state_version.install, sender=last)
        connections.install_waiting()
        column_cache.install()
        second_factor.connect()
        wiring.connect()
