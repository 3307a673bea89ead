"""The events endpoint: a client lists its own operation events, newest first."""

from collections.abc import Mapping
from typing import Any

import orjson
from django.db import models
from django.http import HttpRequest, HttpResponse
from drf_spectacular.utils import OpenApiResponse

from analytics.events import event_log
from analytics.events.event_fields import EVENT_FIELDS, EventField
from analytics.events.event_filters import NOT_TRIED_IN_ADMIN
from analytics.events.models import OperationEvent
from gateway.access.request_context import Caller
from gateway.api import requests
from gateway.api.base import JSON_CONTENT_TYPE, GatewayView
from gateway.api.endpoint_docs import (
    NUMBER,
    OBJECT,
    TEXT,
    TEXTS,
    build_array,
    build_object,
    build_query_parameters,
    build_ref,
    describe_endpoint,
)
from gateway.api.requests import ListQuery
from gateway.contracts import request_schemas
from gateway.models import Scope

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
events_list = describe_endpoint(
    id="list_events",
    summary="List your client's operation events, newest first",
    body=None,
    answers={200: OpenApiResponse(build_ref("EventPage"), description="A page of events.")},
    parameters=build_query_parameters(request_schemas.EVENTS_QUERY),
)
FILTERS = ("session", "turn", "op", "code")
API_FIELDS = tuple(field.name for field in EVENT_FIELDS if field.in_api)


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
        description="Progress of a call that an upstream reported, in its own units.",
    ),
    "EventContent": build_object(
        {},
        {"args": OBJECT, "result": OBJECT, "too_large": {"type": "integer"}},
        description="Args and result of a call, or the bytes of those that are too large to store.",
    ),
}


def list_events(list_query: ListQuery, caller: Caller) -> Mapping[str, Any]:
    """Return a page of the client's events: {results, next_cursor}. One query.

    A key that is bound to a subject reads only the events of that subject.
    """
    event_log.flush()  # so that the calls this process just answered are included
    own_events = OperationEvent.objects.filter(NOT_TRIED_IN_ADMIN, client=caller.key.client)
    if caller.key.bound_subject:
        own_events = own_events.filter(subject=caller.key.bound_subject)
    rows = own_events.filter(**{name: list_query.query[name] for name in FILTERS if name in list_query.query})
    return requests.build_page(rows, list_query.page, _serialize_event, time="time", key="id")


def _serialize_event(event: OperationEvent) -> dict[str, Any]:
    return {name: getattr(event, name) for name in API_FIELDS} | {"time": event.time.isoformat()}


class EventsView(GatewayView):
    """events: list the client's own operation events."""

    scope = Scope.EVENTS

    @events_list
    def get(self, request: HttpRequest) -> HttpResponse:
        parameters = requests.parse_query_string(request.META["QUERY_STRING"])
        list_query = requests.parse_list_query(parameters, request_schemas.EVENTS_QUERY, numbered=True)
        return HttpResponse(
            orjson.dumps(list_events(list_query, self.require_caller())), content_type=JSON_CONTENT_TYPE
        )
