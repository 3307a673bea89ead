"""What manifests declare is merged, and two that declare the same are refused at start."""

from datetime import datetime, timedelta
from pathlib import Path

import pytest
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.http import HttpResponse

from config import wiring
from config.docs import settings_page
from core import manifest
from core.manifest import AdminPage, AuditKind, Job, Manifest, ModelList, PollerThread, SectionTab, WatchedModel


def do_nothing(at: datetime) -> bool:
    return False


def poll() -> None: ...


JOB = Job("events.delete", do_nothing, timedelta(minutes=1))
TAB = SectionTab("Copy", 1, "guide", [ModelList("Ops", "registry.Op")])


def test_declarations_are_joined_in_their_order() -> None:
    merged = manifest.merge(
        [
            Manifest(jobs=[JOB], areas={"calls": ["a.one"]}, tab_pages={"Users": [ModelList("One", "a.One")]}),
            Manifest(polled={PollerThread.UPKEEP: [poll]}, areas={"calls": ["b.two"], "copy": ["b.three"]}),
        ]
    )

    assert (merged.jobs, merged.polled) == ((JOB,), {PollerThread.UPKEEP: (poll,)})
    assert merged.areas == {"calls": ("a.one", "b.two"), "copy": ("b.three",)}
    assert merged.tab_pages == {"Users": (ModelList("One", "a.One"),)}


@pytest.mark.parametrize(
    ("declared", "named"),
    [
        (Manifest(jobs=[JOB]), "job events.delete"),
        (Manifest(refreshed=[poll]), "polled function"),
        (Manifest(polled={PollerThread.MEMORY: [poll]}), "polled function"),
        (Manifest(watched=[WatchedModel("registry.Switch")]), "watched model registry.Switch"),
        (Manifest(audit_kinds={"op": AuditKind("op")}), "kind of audit log entries op"),
        (Manifest(areas={"copy": ["registry.op"]}), "model of an area registry.op"),
        (Manifest(settings=["PORT"]), "setting PORT"),
        (Manifest(pages=[AdminPage("home", "home/", lambda _: HttpResponse())]), "page home"),
        (Manifest(tabs=[TAB]), "place of a tab"),
    ],
)
def test_what_two_manifests_declare_is_refused(declared: Manifest, named: str) -> None:
    with pytest.raises(ImproperlyConfigured, match=named):
        manifest.merge([declared, declared])


def test_every_setting_belongs_to_one_manifest() -> None:
    example = settings_page.read_example((Path(settings.BASE_DIR) / ".env.example").read_text())

    assert sorted(manifest.get().settings) == sorted(each.name for each in example)


def test_a_kind_of_audit_log_entries_fits_its_column(monkeypatch: pytest.MonkeyPatch) -> None:
    long = Manifest(audit_kinds={"long_kind_name": AuditKind("long")})
    monkeypatch.setattr(wiring, "merge", lambda manifests: manifest.merge([*manifests, long]))

    with pytest.raises(ImproperlyConfigured, match="long_kind_name"):
        wiring.collect_manifests()
