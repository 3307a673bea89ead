"""The table of event fields is complete, and what is built from it keeps its form."""

from analytics.events.event_fields import EVENT_FIELDS
from analytics.events.models import OperationEvent
from gateway.api.events import API_FIELDS


def test_event_fields_are_the_columns_of_the_model() -> None:
    names = [field.name for field in EVENT_FIELDS]

    assert len(names) == len(set(names))
    assert set(names) == {field.name for field in OperationEvent._meta.concrete_fields}


def test_every_event_field_is_shown_and_described_in_one_sentence() -> None:
    # The page shows contents above the fields.
    assert [field.name for field in EVENT_FIELDS if not field.places] == ["id", "content"]
    for field in EVENT_FIELDS:
        assert field.description.endswith("."), field.name
        assert "|" not in field.description, field.name  # would break a table in the docs


def test_api_fields_keep_their_order() -> None:
    names = """
    id time type op tool_name group entity action entity_id changed_ids kind format dry_run ok status code
    reason field_errors replayed unchanged result_count latency_ms release surface cohort model source subject
    agent session turn trace_id repairs content progress purpose data_flow
    """
    assert tuple(names.split()) == API_FIELDS
