from django.apps import AppConfig


class BenchmarksConfig(AppConfig):
    """Adds the benchmark ops to the embedded upstreams."""

    name = "benchmarks"

    def ready(self) -> None:
        from benchmarks import ops  # its handlers import models
        from core.handler_contract import EmbeddedUpstream
        from gateway.executors import in_process

        in_process.add_upstream(EmbeddedUpstream("benchmarks", ops.HANDLERS))
