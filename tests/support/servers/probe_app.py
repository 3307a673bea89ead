import os
from dataclasses import replace
from pathlib import Path

from django.apps import AppConfig

JOBS_FOLDER = "PROBE_JOBS_FOLDER"


class ProbeConfig(AppConfig):
    """Adds the probe to the embedded upstreams, and its jobs if their folder is set."""

    name = "tests.support.servers.probe_app"
    label = "probe"

    def ready(self) -> None:
        """Add the handlers, which import models and so can only be imported now."""
        from core import manifest
        from core.handler_contract import EmbeddedUpstream
        from gateway.executors import in_process
        from tests.support.servers import probe

        in_process.add_upstream(EmbeddedUpstream("probe", probe.HANDLERS))
        if folder := os.environ.get(JOBS_FOLDER):
            declared = manifest.get()
            manifest.set_collected(replace(declared, jobs=[*probe.build_jobs(Path(folder)), *declared.jobs]))
