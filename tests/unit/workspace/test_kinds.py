"""The descriptions of kinds speak of columns that exist, and the table of handlers is complete."""

import pytest
from django.db import models

from workspace.handlers import HANDLERS, fields
from workspace.kinds import PROJECT, TASK, Kind
from workspace.models import Entity

KINDS = pytest.mark.parametrize("kind", [PROJECT, TASK], ids=["project", "task"])


@KINDS
def test_kind_names_columns_that_exist(kind: Kind) -> None:
    columns = {field.attname for field in kind.model._meta.concrete_fields}
    context = set(kind.rows().with_context().query.annotations)

    assert {kind.label, *kind.fields, *kind.searched, *kind.span, kind.stamp[1]} <= columns
    assert {*kind.list_row, *kind.full_row} <= columns | context


@KINDS
def test_full_row_says_all_that_a_list_row_says_and_all_that_can_be_set(kind: Kind) -> None:
    assert {*kind.list_row, *kind.fields, "created_at", "updated_at"} <= set(kind.full_row)


@KINDS
def test_full_row_leaves_out_only_deleted_at(kind: Kind) -> None:
    columns = {field.attname for field in kind.model._meta.concrete_fields}

    assert columns - set(kind.full_row) == {"deleted_at"}


@KINDS
def test_stamp_is_a_state_of_the_kind(kind: Kind) -> None:
    state_key = kind.model._meta.get_field("state_key")
    assert isinstance(state_key, models.Field)

    assert kind.stamp[0] in dict(state_key.flatchoices)


def test_every_entity_has_a_kind_and_field_info() -> None:
    entities = {model for model in Entity.__subclasses__() if not model._meta.abstract}

    assert {kind.model for kind in (PROJECT, TASK)} == entities
    assert {kind.model for kind in fields.ENTITY_TYPES.values()} == entities


def test_handlers_are_the_ops_of_the_catalog_by_tool_name() -> None:
    assert sorted(HANDLERS) == [
        "create_onto_project",
        "create_onto_task",
        "delete_onto_task",
        "get_field_info",
        "get_onto_project_details",
        "get_onto_task_details",
        "list_onto_projects",
        "list_onto_tasks",
        "search_onto_projects",
        "search_onto_tasks",
        "update_onto_project",
        "update_onto_task",
    ]
