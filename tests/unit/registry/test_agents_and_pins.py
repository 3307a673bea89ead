"""Agents, pins and discovery names are copy: read from files, merged with edits, frozen, served and exported."""

from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from registry.catalog.builder import build_catalog
from registry.files import export, loader, yaml_format
from registry.releases import publishing, stored_releases
from tests.support.rows.op_entries import build_content, build_op_entry

pytestmark = pytest.mark.django_db

AGENT = {
    "name": "explorer",
    "summary": "Finds things",
    "when_to_use": "When you look for something.",
    "ops": ["a.*"],
    "is_read_only": True,
    "constraints": ["Changes nothing."],
    "system_prompt": "You find things.",
    "status": "active",
}
PIN = {"surface": "hybrid", "context": "project", "model_family": "*", "ops": ["a.b"], "max_tokens": 500}
READ = build_op_entry("a.b", tool_name="list_onto_tasks", connection="workspace")
WRITE = build_op_entry("a.c", tool_name="create_onto_task", kind="write", connection="workspace")
CONTENT: dict[str, Any] = build_content(READ, WRITE)
CONTENT |= {
    "groups": [{"path": "a", "summary": "Things", "discovery_name": "discover_things"}],
    "agents": [AGENT],
    "pins": [PIN],
}


def test_files_to_draft_to_release_to_files_lose_nothing(tmp_path: Path) -> None:
    export.write_to_folder(CONTENT, tmp_path)
    loader.load_into_draft(yaml_format.read_folder(tmp_path))
    released = publishing.publish_draft(note="Test", by="tests", at=timezone.now())

    files, sent = (export.to_files(content) for content in (stored_releases.load_content(released), CONTENT))

    for name in ("groups.yaml", "agents.yaml", "pins.yaml"):
        assert files[name] == sent[name]


def test_catalog_has_active_agents_pins_and_domains() -> None:
    catalog = build_catalog("v" * 64, CONTENT | {"agents": [AGENT, AGENT | {"name": "old", "status": "retired"}]})

    assert list(catalog.agents) == ["explorer"]
    allowed = [op.op for op in catalog.ops.values() if catalog.agents["explorer"].allows(op)]
    assert allowed == ["a.b"]  # it is read-only
    assert [(domain.name, domain.path, domain.summary) for domain in catalog.domains.values()] == [
        ("discover_things", "a", "Things")
    ]
    assert [(pin.context, pin.ops) for pin in catalog.pins] == [("project", ("a.b",))]
