"""OpenAPI of releases."""

from typing import Any

from drf_spectacular.utils import OpenApiResponse

from gateway.api.openapi.endpoint import build_query_parameters, describe_endpoint
from gateway.api.openapi.schema_parts import TEXT, TEXTS, build_array, build_enum, build_object, build_ref
from gateway.contracts import request_schemas
from registry.models import Op

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
