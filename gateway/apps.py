from django.apps import AppConfig, apps
from django.db.models.signals import post_migrate

from gateway import roles


class GatewayConfig(AppConfig):
    name = "gateway"
    verbose_name = "Access"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        # Each app creates its permissions in its own post_migrate, so all of them exist only at the last one.
        last = [app for app in apps.get_app_configs() if app.models_module is not None][-1]
        post_migrate.connect(roles.sync_groups, sender=last, dispatch_uid="gateway.roles.sync_groups")
