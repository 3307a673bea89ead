"""The descriptions of kinds speak of columns that exist, and the table of handlers is complete."""

import pytest
from django.db import models

from workspace.handlers import HANDLERS, fields
from workspace.kinds import DOCUMENT, KINDS, PROJECT, TASK, Kind
from workspace.models import Entity

EACH_KIND = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


@EACH_KIND
def test_kind_names_columns_that_exist(kind: Kind) -> None:
    columns = {field.attname for field in kind.model._meta.concrete_fields}
    context = set(kind.rows().with_context().query.annotations)

    named = {kind.label, *kind.fields, *kind.searched, *kind.texts, *(kind.span or ()), *(kind.stamp or ())[1:]}
    assert named <= columns
    assert {*kind.list_row, *kind.full_row} <= columns | context


@EACH_KIND
def test_full_row_says_all_that_a_list_row_says_and_all_that_can_be_set(kind: Kind) -> None:
    said = {*kind.list_row, *kind.fields, "created_at", "updated_at"} - {f"{name}_length" for name in kind.texts}

    assert said <= set(kind.full_row)  # which has the text itself


@EACH_KIND
def test_full_row_leaves_out_only_deleted_at(kind: Kind) -> None:
    columns = {field.attname for field in kind.model._meta.concrete_fields}

    assert columns - set(kind.full_row) == {"deleted_at"}


@EACH_KIND
def test_states_that_are_named_are_states_of_the_kind(kind: Kind) -> None:
    state_key = kind.model._meta.get_field("state_key")
    assert isinstance(state_key, models.Field)

    assert {*kind.finished, *(kind.stamp or ())[:1]} <= set(dict(state_key.flatchoices))


def test_documents_have_neither_span_nor_stamp() -> None:
    assert (DOCUMENT.span, DOCUMENT.stamp) == (None, None)
    assert all(kind.span and kind.stamp for kind in (PROJECT, TASK))


def test_every_entity_has_a_kind_and_field_info() -> None:
    entities = {model for model in Entity.__subclasses__() if not model._meta.abstract}

    assert {kind.model for kind in KINDS.values()} == entities
    assert {kind.model for kind in fields.ENTITY_TYPES.values()} == entities


def test_handlers_are_the_ops_of_the_catalog_by_tool_name() -> None:
    assert sorted(HANDLERS) == [
        "create_onto_document",
        "create_onto_project",
        "create_onto_task",
        "delete_onto_document",
        "delete_onto_task",
        "get_field_info",
        "get_onto_document_details",
        "get_onto_project_details",
        "get_onto_task_details",
        "list_onto_documents",
        "list_onto_projects",
        "list_onto_tasks",
        "search_onto_documents",
        "search_onto_projects",
        "search_onto_tasks",
        "search_ontology",
        "update_onto_document",
        "update_onto_project",
        "update_onto_task",
    ]
