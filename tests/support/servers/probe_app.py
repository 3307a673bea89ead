from django.apps import AppConfig


class ProbeConfig(AppConfig):
    """Adds the probe to the embedded upstreams."""

    name = "tests.support.servers.probe_app"
    label = "probe"

    def ready(self) -> None:
        """Add the handlers, which import models and so can only be imported now."""
        from gateway.executors import embedded
        from tests.support.servers import probe

        embedded.add_upstream("probe", probe.HANDLERS)
