from django.apps import AppConfig
from django.core import checks


class GatewayConfig(AppConfig):
    name = "gateway"
    verbose_name = "Access"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from gateway.jobs import late_jobs  # models can be imported only now

        checks.register(late_jobs.check_deployment, checks.Tags.database, deploy=True)
