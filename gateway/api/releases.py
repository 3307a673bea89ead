"""The releases endpoints: list releases, and show one with its ops and their tokens."""

from collections.abc import Mapping
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet, Subquery
from django.http import HttpRequest, HttpResponse
from drf_spectacular.utils import OpenApiResponse

from core.text import json_text
from gateway.access.request_context import Caller
from gateway.api import requests
from gateway.api.base import JSON_CONTENT_TYPE, GatewayView
from gateway.api.endpoint_docs import (
    TEXT,
    TEXTS,
    build_array,
    build_enum,
    build_object,
    build_query_parameters,
    build_ref,
    describe_endpoint,
)
from gateway.api.requests import PageRequest
from gateway.contracts import request_schemas
from gateway.contracts.errors import NotFoundError
from gateway.models import Scope
from registry.catalog import builder, model
from registry.models import Activation, Op, Release
from registry.releases import stored_releases

_RELEASE = {
    "version": TEXT,
    "number": {"type": ["integer", "null"], "description": "For people, who call it r12."},
    "name": TEXT,
    "labels": TEXTS,
    "at": {**TEXT, "format": "date-time"},
    "by": TEXT,
    "note": {**TEXT, "description": "The note of its publication."},
    "op_count": {"type": "integer"},
    "live": {"type": "boolean"},
    "withdrawn": {"type": "boolean", "description": "It can never be made live or serve calls again."},
}
_WITHDRAWN = {"withdrawn_reason": TEXT}
COMPONENTS: dict[str, Any] = {
    "ReleasePage": build_object(
        {"results": build_array(build_ref("ReleaseSummary")), "next_cursor": {"type": ["string", "null"]}},
        description="Releases, newest first.",
    ),
    "ReleaseSummary": build_object(_RELEASE, _WITHDRAWN),
    "Release": build_object(
        {**_RELEASE, "ops": build_array(build_ref("ReleaseOp"))},
        _WITHDRAWN,
        description="One release, with the ops this key may see and the o200k_base tokens of their help.",
    ),
    "ReleaseOp": build_object(
        {"op": TEXT, "kind": build_ref("OpKind"), "summary": TEXT, "status": build_enum(Op.Status.values)},
        {"tokens": build_ref("HelpTokens")},
    ),
    "HelpTokens": build_object({"short": {"type": "integer"}, "full": {"type": "integer"}}),
}
releases_list = describe_endpoint(
    id="list_releases",
    summary="List the releases, newest first",
    body=None,
    answers={200: OpenApiResponse(build_ref("ReleasePage"), description="A page of releases.")},
    parameters=build_query_parameters(request_schemas.LIST_QUERY),
)
release_get = describe_endpoint(
    id="get_release",
    summary="Get one release: its ops and their tokens",
    body=None,
    answers={200: OpenApiResponse(build_ref("Release"), description="The release.")},
)


def list_releases(page: PageRequest) -> Mapping[str, Any]:
    """Return a page of releases, newest first: {results, next_cursor}. One query."""
    rows = _query_releases().defer("content", "tokens")
    return requests.build_page(rows, page, _serialize_release, time="created_at", key="version")


def get_release(version: str, caller: Caller) -> dict[str, Any]:
    """Return one release with the ops that this caller may see, and their tokens. Raises NotFoundError."""
    release = _query_releases().filter(version=version).first()
    if release is None:
        message = "This release does not exist. GET /api/v1/releases lists all releases."
        raise NotFoundError(message, reason="unknown_release")
    catalog = builder.build_catalog(version, stored_releases.load_content(release), release.tokens)
    visible = (op for path, op in sorted(catalog.ops.items()) if caller.key.visibility.allows(op))
    return {**_serialize_release(release), "ops": [_serialize_op(op, catalog.tokens) for op in visible]}


def _query_releases() -> QuerySet[Release]:
    activations = Activation.objects.filter(release=OuterRef("pk"))
    return Release.objects.annotate(
        is_live=Exists(activations.filter(is_live=True)),
        note=Subquery(activations.order_by("activated_at", "id").values("note")[:1]),
    )


def _serialize_release(release: Any) -> dict[str, Any]:
    """Return a release as a list shows it; `note` is the note of its first activation."""
    payload = {
        "version": release.version,
        "number": release.number,
        "name": release.name,
        "labels": release.labels,
        "at": release.created_at.isoformat(),
        "by": release.created_by,
        "note": release.note or "",
        "op_count": release.op_count,
        "live": release.is_live,
        "withdrawn": release.withdrawn_at is not None,
    }
    return payload | ({"withdrawn_reason": release.withdrawn_reason} if payload["withdrawn"] else {})


def _serialize_op(op: model.CatalogOp, tokens: dict[str, list[int]]) -> dict[str, Any]:
    payload: dict[str, Any] = {"op": op.op, "kind": op.kind, "summary": op.summary, "status": op.status}
    if op.op in tokens:
        payload["tokens"] = dict(zip(("short", "full"), tokens[op.op], strict=True))
    return payload


class ReleasesView(GatewayView):
    """releases: list the releases."""

    scope = Scope.EVENTS

    @releases_list
    def get(self, request: HttpRequest) -> HttpResponse:
        page = requests.parse_list_query(requests.parse_query_string(request.META["QUERY_STRING"])).page
        return HttpResponse(json_text.dump(list_releases(page)), content_type=JSON_CONTENT_TYPE)


class ReleaseView(GatewayView):
    """releases/<version>: one release, its ops and their tokens."""

    scope = Scope.EVENTS

    @release_get
    def get(self, request: HttpRequest, version: str) -> HttpResponse:
        return HttpResponse(json_text.dump(get_release(version, self.require_caller())), content_type=JSON_CONTENT_TYPE)
