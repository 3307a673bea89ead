"""docs/workspace.md agrees with the models."""

import pytest
from django.apps import apps
from django.db import models

from config.docs import workspace_diagrams
from workspace.entity_types import ENTITY_TYPE_BY_NAME, EntityType
from workspace.relations import ALLOWED_PARENTS, PARENT_RELATIONS

SAID, EDGES = workspace_diagrams.render_entities(), workspace_diagrams.render_relations()


@pytest.mark.parametrize("kind", ENTITY_TYPE_BY_NAME.values(), ids=ENTITY_TYPE_BY_NAME)
def test_docs_list_each_kind_with_its_states(kind: EntityType) -> None:
    (line,) = [line for line in SAID.splitlines() if line.startswith(f"| {kind.name} |")]
    column = next((field for field in kind.model._meta.concrete_fields if field.name == "state_key"), None)

    assert f"`{kind.label}`" in line
    assert all(f"`{value}`" in line for value, _ in column.flatchoices) if column else "| none |" in line


def test_diagram_shows_each_foreign_key_once() -> None:
    drawn = [line.split() for line in SAID.splitlines() if "--o{" in line]
    there = [
        (field.related_model._meta.model_name, model._meta.model_name)  # type: ignore[union-attr]
        for model in apps.get_app_config("workspace").get_models()
        for field in model._meta.concrete_fields
        if isinstance(field, models.ForeignKey)
    ]

    assert sorted((line[0], line[2]) for line in drawn) == sorted(there)


def test_diagram_shows_every_parent_of_a_kind() -> None:
    for child, parents in ALLOWED_PARENTS.items():
        for parent in parents:
            assert f"    {parent.value} ==>|{PARENT_RELATIONS[child]}| {child.value}\n" in EDGES
