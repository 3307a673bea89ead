"""What each app and each section of the console declares about itself, in its `manifest.py`.

`config/wiring.py` collects all manifests at start. Code that works on all jobs, pages or kinds reads `get()`.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.db.models import QuerySet
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from core.demo_data import DemoData
from core.handler_contract import EmbeddedUpstream

SubjectFinder = Callable[[Any], str]  # takes a user; whose class can be imported only once the apps are loaded
# Takes a request and the text; returns the GoToResults that this user may see (core/admin/site.py).
GoToSource = Callable[[HttpRequest, str], Iterable[Any]]
Verbs = Mapping[str, Mapping[Any, str]]  # of changes in the audit log
JobFunction = Callable[[datetime], bool]  # takes the time; returns whether more work is left, so that it runs again


@dataclass(frozen=True, slots=True)
class Job:
    """A periodic job, which only one process runs at a time. Its name identifies its row, so it never changes."""

    name: str
    function: JobFunction
    interval: timedelta


@dataclass(frozen=True, slots=True)
class WatchedModel:
    """A model whose rows processes keep in memory: `model` is app_label.ModelName.

    A change of an `ignored` field alone changes nothing that they keep.
    """

    model: str
    ignored: Sequence[str] = ()


class PollerThread(StrEnum):
    """A thread that calls its functions every half second. None waits for another."""

    MEMORY = "memory"  # quick functions, which query only if they have to; first what is refreshed
    RELEASES = "releases"  # loading a release takes seconds
    UPKEEP = "upkeep"  # may wait for others' writes. Only in processes that answer calls


@dataclass(frozen=True, slots=True)
class AuditKind:
    """A kind of audit log entries: its words, and the permission to see them if it differs from that of the log.

    `verbs` say what a change is called, by the field and its new value, the most important first: {"is_on": {True:
    "started"}}. None stands for all other values. If `names_draft`, a name is the version of a draft, which says
    something only if it became a release.
    """

    label: str
    permission: str = ""
    verbs: Verbs = field(default_factory=dict)
    names_draft: bool = False


@dataclass(frozen=True, slots=True)
class AdminPage:
    """An admin page that does not belong to a single model: its URL name, its path below /admin/, its view."""

    name: str
    path: str
    view: Callable[..., HttpResponseBase]


@dataclass(frozen=True, slots=True)
class ModelList:
    """The list of a model. `model` is app_label.ModelName; `about` says what its rows are.

    It has no tab while `is_needed` returns False. "Go to" also finds it by its `keywords`: words or phrases.
    """

    title: str
    model: str
    about: str = ""
    is_needed: Callable[[], bool] | None = None
    keywords: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class PageLink:
    """Another page. `name` is its URL name; `permissions` are all required. It has no tab while not `is_needed`.

    "Go to" also finds it by its `keywords`: words or phrases.
    """

    title: str
    name: str
    permissions: Sequence[str]
    is_needed: Callable[[], bool] | None = None
    keywords: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class SectionTab:
    """A tab of a section of the sidebar. `guide` is the guide to it and its heading.

    The tab opens the first page that the user can open; the others are tabs below it. Tabs of a section are in the
    order of `place`.
    """

    section: str
    place: int
    guide: str
    pages: Sequence[ModelList | PageLink]
    name: str = ""

    @property
    def title(self) -> str:
        """Its name, or else the title of its first page."""
        return self.name or self.pages[0].title


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What an app declares, or all of them together.

    An app that a team can remove (GATEWAY_APPS) is known only by its manifest: nothing else imports it.
    """

    upstreams: Sequence[EmbeddedUpstream] = ()  # ops that run in this process
    copy_folders: Sequence[Path] = ()  # YAML with the copy of its ops, which load_catalog merges into the draft
    # Return all rows of a subject by their name in an export; those that belong to others come after them.
    row_finders: Sequence[Callable[[str], dict[str, QuerySet[Any]]]] = ()
    subject_finders: Sequence[SubjectFinder] = ()  # the subject of a user of the console, empty if there is none
    demos: Sequence[DemoData] = ()
    jobs: Sequence[Job] = ()
    watched: Sequence[WatchedModel] = ()
    refreshed: Sequence[Callable[[], object]] = ()  # what each process reads again when a watched row changes; quick
    polled: Mapping[PollerThread, Sequence[Callable[[], object]]] = field(default_factory=dict)
    audit_kinds: Mapping[str, AuditKind] = field(default_factory=dict)
    areas: Mapping[str, Sequence[str]] = field(default_factory=dict)  # area of roles -> models, as app_label.model
    settings: Sequence[str] = ()  # environment variables
    pages: Sequence[AdminPage] = ()
    go_to_sources: Sequence[GoToSource] = ()
    actions: Sequence[PageLink] = ()  # pages that add or import something, which "Go to" finds
    tabs: Sequence[SectionTab] = ()
    tab_pages: Mapping[str, Sequence[ModelList]] = field(default_factory=dict)  # title of a tab -> further pages
    # Return the address of a chat, with a message that its field holds.
    chat_pages: Sequence[Callable[[str], str]] = ()
    system_lists: Mapping[str, Sequence[ModelList]] = field(default_factory=dict)  # heading on the System page -> lists


_FIELD_NAMES = tuple(each.name for each in fields(Manifest))


def merge(manifests: Iterable[Manifest]) -> Manifest:
    """Return all manifests as one, in their order. Raises ImproperlyConfigured if two declare the same."""
    manifests = list(manifests)
    merged = Manifest(
        **{
            each.name: _merge_values([getattr(manifest, each.name) for manifest in manifests])
            for each in fields(Manifest)
        }
    )
    _refuse_repeated("upstream", (upstream.name for upstream in merged.upstreams))
    _refuse_repeated("job", (job.name for job in merged.jobs))
    polled = [*merged.refreshed, *(function for functions in merged.polled.values() for function in functions)]
    _refuse_repeated("polled function", polled)
    _refuse_repeated("watched model", (each.model for each in merged.watched))
    _refuse_repeated("kind of audit log entries", (kind for manifest in manifests for kind in manifest.audit_kinds))
    _refuse_repeated("model of an area", (model for models in merged.areas.values() for model in models))
    _refuse_repeated("setting", merged.settings)
    _refuse_repeated("page", (page.name for page in merged.pages))
    _refuse_repeated("address", (page.path for page in merged.pages))
    _refuse_repeated("place of a tab", ((tab.section, tab.place) for tab in merged.tabs))
    _refuse_repeated("title of a tab", (tab.title for tab in merged.tabs))
    _refuse_repeated("finder of a user's subject", ("subject_finders" for _ in merged.subject_finders))
    return merged


def _merge_values(values: list[Any]) -> Any:
    """Join sequences, and mappings of sequences or audit kinds."""
    if not isinstance(values[0], Mapping):
        return tuple(item for value in values for item in value)
    joined: dict[str, Any] = {}
    for value in values:
        for key, item in value.items():
            joined[key] = item if isinstance(item, AuditKind) else (*joined.get(key, ()), *item)
    return joined


def _refuse_repeated(what: str, names: Iterable[object]) -> None:
    for name, count in Counter(names).items():
        if count > 1:
            raise ImproperlyConfigured(f"Two manifests declare the {what} {name}. Remove or rename one.")


_collected = Manifest()


def set_collected(manifest: Manifest) -> None:
    """Set what all installed apps declare. `config/wiring.py` calls this at start."""
    global _collected
    _collected = manifest


def get() -> Manifest:
    """Return what all installed apps declare."""
    return _collected
