from django.apps import AppConfig


class ProbeConfig(AppConfig):
    """Adds the probe to the embedded upstreams."""

    name = "tests.support.servers.probe_app"
    label = "probe"

    def ready(self) -> None:
        """Add the handlers, which import models and so can only be imported now."""
        from core.handler_contract import EmbeddedUpstream
        from gateway.executors import in_process
        from tests.support.servers import probe

        in_process.add_upstream(EmbeddedUpstream("probe", probe.HANDLERS))
