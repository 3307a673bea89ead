"""Entity types name existing columns."""

from django.db import models

from tests.support.loops import for_each
from workspace.entity_types import (
    CALENDAR,
    ENTITY_TYPE_BY_NAME,
    EVENT,
    EntityType,
)
from workspace.handlers.generic import fields
from workspace.models import Entity

EVERY = ENTITY_TYPE_BY_NAME | {kind.name: kind for kind in (EVENT, CALENDAR)}
EACH_KIND = for_each("kind", EVERY.values())


@EACH_KIND
def test_entity_type_names_existing_columns_and_states(kind: EntityType) -> None:
    fields_by_name = {field.attname: field for field in kind.model._meta.concrete_fields}
    columns, state = set(fields_by_name), fields_by_name.get("state_key")
    context = set(kind.get_rows().with_context().query.annotations)
    properties = {name for name, value in vars(kind.model).items() if isinstance(value, property)}

    named = {
        kind.label,
        *kind.fields,
        *kind.search_columns,
        *kind.texts,
        *(kind.span_columns or ()),
        *(kind.completion_stamp or ())[1:],
    }
    assert named | {*kind.extra_columns, *(key.column for order in kind.orders for key in order.keys)} <= columns
    assert {*kind.list_row, *kind.full_row} <= columns | context | properties
    assert kind.computed_fields.keys().isdisjoint({*columns, *kind.list_row, *kind.full_row})
    in_both = {*kind.list_row, *kind.fields, "created_at", "updated_at"} - {f"{name}_length" for name in kind.texts}
    assert in_both <= set(kind.full_row)  # which has the text itself
    states = {value for value, _ in state.flatchoices} if state else set()
    assert {*kind.final_states, *(kind.completion_stamp or ())[:1]} <= states


@EACH_KIND
def test_long_texts_include_all_texts_of_a_row(kind: EntityType) -> None:
    columns = {field.attname: field for field in kind.model._meta.concrete_fields}
    texts = {name for name in kind.full_row if type(columns.get(name)) is models.TextField}

    assert texts <= set(kind.long_texts) <= set(kind.full_row)
    assert {*kind.update_strategies, *kind.texts} <= set(kind.long_texts)


@EACH_KIND
def test_orders_have_unique_names_and_the_first_is_the_default(kind: EntityType) -> None:
    names = [order.name for order in kind.orders]

    assert len(set(names)) == len(names)
    assert kind.get_order(None) is kind.get_order("nonsense") is kind.orders[0]
    assert [kind.get_order(name).name for name in names] == names


@for_each("kind", ENTITY_TYPE_BY_NAME.values())
def test_full_row_omits_only_deleted_at(kind: EntityType) -> None:
    columns = {field.attname for field in kind.model._meta.concrete_fields}

    # The tree op returns the version of the tree, and events show when a task is scheduled and what it skips.
    shown_elsewhere = {"tree_version", "is_scheduled", "skipped_occurrences"}
    assert columns - set(kind.full_row) - shown_elsewhere == {"deleted_at"}


def test_every_entity_has_an_entity_type_and_field_info() -> None:
    entities = {model for model in Entity.__subclasses__() if not model._meta.abstract}
    in_calendars = {kind.model for kind in (EVENT, CALENDAR)}

    assert {kind.model for kind in ENTITY_TYPE_BY_NAME.values()} | in_calendars == entities
    assert {kind.model for kind in fields.ENTITY_TYPES.values()} == entities - in_calendars
