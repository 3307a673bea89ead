"""What an app hands to the others. Its module `manifest` has a MANIFEST, and config/wiring collects those installed.

An app that a team can remove (GATEWAY_APPS) is known only by its manifest: nothing else imports it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.db.models import QuerySet

from core.demo_data import DemoData
from core.handler_contract import EmbeddedUpstream

JobFunction = Callable[[datetime], bool]  # takes the time; returns whether more work is left, so that it runs again


@dataclass(frozen=True, slots=True)
class Job:
    """A function and how often it runs."""

    function: JobFunction
    interval: timedelta

    @property
    def name(self) -> str:
        """The function's dotted path, which identifies the job's row."""
        return f"{self.function.__module__}.{self.function.__qualname__}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What one app offers.

    `copy` is a folder of YAML with the copy of its ops, which load_catalog merges into the draft.
    `find_rows` returns all rows of a subject by their name in an export; those that belong to others come after them.
    `find_subject` returns the subject of a user of the console, empty if the user has none.
    """

    upstreams: tuple[EmbeddedUpstream, ...] = ()
    copy: Path | None = None
    jobs: tuple[Job, ...] = ()
    find_rows: Callable[[str], dict[str, QuerySet[Any]]] | None = None
    find_subject: Callable[[User], str] | None = None
    demo: DemoData | None = None
