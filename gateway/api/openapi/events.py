"""OpenAPI of operation events."""

from typing import Any

from django.db import models
from drf_spectacular.utils import OpenApiResponse

from analytics.events.event_fields import EVENT_FIELDS, EventField
from analytics.models import OperationEvent
from gateway.api.openapi.endpoint import build_query_parameters, describe_endpoint
from gateway.api.openapi.schema_parts import NUMBER, OBJECT, TEXT, TEXTS, build_array, build_object, build_ref
from gateway.contracts import request_schemas

# JSON types of event fields, by the class of the model's field.
_JSON_TYPES: dict[type[models.Field[Any, Any]], str] = {
    models.CharField: "string",
    models.BooleanField: "boolean",
    models.IntegerField: "integer",
    models.FloatField: "number",
}

# Schemas of the event fields that are JSON.
_JSON_SCHEMAS: dict[str, dict[str, Any]] = {
    "changed_ids": {**build_array(TEXT), "type": ["array", "null"]},
    "field_errors": build_array({**TEXTS, "minItems": 2, "maxItems": 2}),
    "progress": {"oneOf": [build_ref("EventProgress"), {"type": "null"}]},
    "content": {"oneOf": [build_ref("EventContent"), {"type": "null"}]},
}


def _describe_event_field(field: EventField) -> dict[str, Any]:
    """Return the schema of an event field: its type in the model, and its description."""
    column = OperationEvent._meta.get_field(field.name)
    if isinstance(column, models.DateTimeField):
        return {"type": "string", "format": "date-time", "description": field.description}
    if isinstance(column, models.JSONField):
        return {**_JSON_SCHEMAS[field.name], "description": field.description}
    json_type = next(name for base, name in _JSON_TYPES.items() if isinstance(column, base))
    return {"type": [json_type, "null"] if column.null else json_type, "description": field.description}


COMPONENTS: dict[str, Any] = {
    "EventPage": build_object(
        {"results": build_array(build_ref("OperationEvent")), "next_cursor": {"type": ["string", "null"]}},
        description="Operation events, newest first.",
    ),
    "OperationEvent": build_object(
        {field.name: _describe_event_field(field) for field in EVENT_FIELDS if field.in_api}
    ),
    "EventProgress": build_object(
        {},
        {"done": NUMBER, "total": NUMBER},
        description="How far an upstream told that it was with a call, in units of its own.",
    ),
    "EventContent": build_object(
        {},
        {"args": OBJECT, "result": OBJECT, "too_large": {"type": "integer"}},
        description="Args and result of a call, or the bytes of those that are too large to store.",
    ),
}

events_list = describe_endpoint(
    id="list_events",
    summary="List your client's operation events, newest first",
    body=None,
    answers={200: OpenApiResponse(build_ref("EventPage"), description="A page of events.")},
    parameters=build_query_parameters(request_schemas.EVENTS_QUERY),
)
