"""Prompt sections, agents, pins and discovery names are copy: read from files, merged with edits, frozen and served."""

from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.utils import timezone

from registry.catalog.builder import build_catalog
from registry.files import export, loader, yaml_format
from registry.models import PromptSection
from registry.releases import publishing, stored_releases
from registry.snapshot import snapshot
from tests.support.loops import for_each
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


IDS = {"prompt": "guide", "name": "ids", "position": 10, "title": "Ids", "text": "Whole.", "status": "active"}
FILE = "sections:\n  - {prompt: guide, name: ids, position: 10, title: Ids, text: Whole.}\n"


def ship(*sections: dict[str, Any]) -> loader.MergeReport:
    return loader.load_into_draft(build_content() | {"sections": list(sections)})


def get_stored_entry() -> dict[str, Any]:
    return snapshot.row_to_entry(PromptSection.objects.get())


@for_each(
    "text, message",
    [
        (FILE.replace("title: Ids, ", ""), '"title" is missing'),
        (FILE.replace("name: ids", "name: My Ids"), "prompts.yaml"),
        (FILE + FILE.partition("\n")[2], "2 sections of this prompt have this name"),
    ],
)
def test_section_files_are_read_and_those_with_errors_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "prompts.yaml").write_text(FILE)
    assert yaml_format.read_folder(tmp_path)["sections"] == [IDS]
    (tmp_path / "prompts.yaml").write_text(text)

    with pytest.raises(yaml_format.InvalidCatalogFiles) as refused:
        yaml_format.read_folder(tmp_path)

    assert message in str(refused.value)


def test_load_reports_a_section_edit_and_sections_no_longer_shipped_but_not_own_ones() -> None:
    ship(IDS)
    PromptSection.objects.update(text="Mine.")

    report = ship(IDS | {"text": "Newer.", "title": "Newer"})

    assert (report.updated, report.kept_edits) == (["guide, ids"], ["guide, ids text"])
    assert get_stored_entry() == IDS | {"text": "Mine.", "title": "Newer"}
    PromptSection.objects.create(prompt="guide", name="own", title="Own", text="Own.")
    assert ship().no_longer_shipped == ["guide, ids"]
    assert PromptSection.objects.count() == 2


def test_catalog_has_each_prompt_in_order_without_retired_sections() -> None:
    sections = [
        IDS | {"name": "last", "position": 30},
        IDS | {"name": "b"},
        IDS | {"name": "a"},
        IDS | {"name": "gone", "status": "retired"},
        IDS | {"prompt": "other"},
    ]

    catalog = build_catalog("v" * 64, build_content() | {"sections": sections})

    assert {name: [each.name for each in prompt] for name, prompt in catalog.prompts.items()} == {
        "guide": ["a", "b", "last"],
        "other": ["ids"],
    }
    before = build_content()  # of a release from before prompt sections existed
    assert build_catalog("v" * 64, before).prompts == {}


@for_each("name", ["", "My ids", "ids.more", "Ids", "1st"])
def test_section_name_must_be_a_word(name: str) -> None:
    with pytest.raises(ValidationError) as refused:
        PromptSection(**IDS | {"name": name}).full_clean()

    assert set(refused.value.message_dict) == {"name"}
