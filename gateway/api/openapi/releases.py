"""OpenAPI of releases."""

from typing import Any

from drf_spectacular.utils import OpenApiResponse

from gateway.api.openapi.endpoint import build_query_parameters, describe_endpoint
from gateway.api.openapi.schema_parts import TEXT, build_array, build_object, build_ref
from gateway.contracts import request_schemas

_RELEASE = {
    "version": TEXT,
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
        {"results": build_array(_RELEASE, _WITHDRAWN), "next_cursor": {"type": ["string", "null"]}},
        description="Releases, newest first.",
    ),
    "Release": build_object(
        {
            **_RELEASE,
            "ops": build_array(
                {
                    "op": TEXT,
                    "kind": {"enum": ["read", "write"]},
                    "summary": TEXT,
                    "status": {"enum": ["active", "retired"]},
                },
                {"tokens": build_object({"short": {"type": "integer"}, "full": {"type": "integer"}})},
            ),
        },
        _WITHDRAWN,
        description="One release, with the ops this key may see and the o200k_base tokens of their help.",
    ),
}

releases_list = describe_endpoint(
    id="releases",
    summary="List the releases, newest first",
    body=None,
    answers={200: OpenApiResponse(build_ref("ReleasePage"), description="A page of releases.")},
    parameters=build_query_parameters(request_schemas.LIST_QUERY),
)

release_get = describe_endpoint(
    id="release",
    summary="Get one release: its ops and their tokens",
    body=None,
    answers={200: OpenApiResponse(build_ref("Release"), description="The release.")},
)
