from django.apps import AppConfig


class BenchmarksConfig(AppConfig):
    """Adds the benchmark ops to the embedded upstreams."""

    name = "benchmarks"

    def ready(self) -> None:
        from benchmarks import ops  # its handlers import models
        from gateway.executors import embedded

        embedded.add_upstream("benchmarks", ops.HANDLERS)
