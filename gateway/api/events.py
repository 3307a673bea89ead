"""The events endpoint: a client lists its own operation events, newest first."""

from collections.abc import Mapping
from typing import Any

import orjson
from django.http import HttpResponse
from rest_framework.request import Request

from analytics.events import event_log
from analytics.events.event_fields import EVENT_FIELDS
from analytics.events.event_filters import NOT_TRIED_IN_ADMIN
from analytics.models import OperationEvent
from gateway.api import pagination, query_string
from gateway.api.base import JSON_CONTENT_TYPE, GatewayView
from gateway.api.openapi.events import events_list
from gateway.api.pagination import ListQuery
from gateway.contracts import request_schemas
from gateway.models import Scope
from gateway.request_context import Caller

FILTERS = ("session", "turn", "op", "code")

API_FIELDS = tuple(field.name for field in EVENT_FIELDS if field.in_api)


def list_events(list_query: ListQuery, caller: Caller) -> Mapping[str, Any]:
    """Return a page of the client's events: {results, next_cursor}. One query.

    A key that is bound to a subject reads only the events of that subject.
    """
    event_log.flush()  # so that the calls this process just answered are included
    page = list_query.page
    own_events = OperationEvent.objects.filter(NOT_TRIED_IN_ADMIN, client=caller.key.client)
    if caller.key.bound_subject:
        own_events = own_events.filter(subject=caller.key.bound_subject)
    rows = own_events.filter(
        page.build_filter("time", "id"),
        **{name: list_query.query[name] for name in FILTERS if name in list_query.query},
    )
    matches = list(rows.order_by("-time", "-id")[: page.limit + 1])
    shown, has_more = matches[: page.limit], len(matches) > page.limit
    return pagination.build_page(
        [_serialize_event(event) for event in shown], (shown[-1].time, str(shown[-1].pk)) if has_more else None
    )


def _serialize_event(event: OperationEvent) -> dict[str, Any]:
    return {name: getattr(event, name) for name in API_FIELDS} | {"time": event.time.isoformat()}


class EventsView(GatewayView):
    """events: list the client's own operation events."""

    scope = Scope.EVENTS

    @events_list
    def get(self, request: Request) -> HttpResponse:
        parameters = query_string.parse(request._request.META["QUERY_STRING"])
        list_query = pagination.parse_list_query(parameters, request_schemas.EVENTS_QUERY, numbered=True)
        return HttpResponse(
            orjson.dumps(list_events(list_query, self.require_caller())), content_type=JSON_CONTENT_TYPE
        )
