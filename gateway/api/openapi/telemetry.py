"""OpenAPI of telemetry."""

from typing import Any

from drf_spectacular.utils import OpenApiResponse

from gateway.api.openapi.endpoint import describe_endpoint
from gateway.api.openapi.schema_parts import build_object, build_ref
from gateway.toolset.telemetry import TELEMETRY_SCHEMA

COMPONENTS: dict[str, Any] = {
    "TelemetryRequest": TELEMETRY_SCHEMA,
    "TelemetryResponse": build_object({"ok": {"const": True}, "meta": build_ref("Meta")}),
}

telemetry_by_post = describe_endpoint(
    id="report_turn",
    summary="Report how a turn went",
    body="TelemetryRequest",
    answers={
        200: OpenApiResponse(
            build_ref("TelemetryResponse"), description="Recorded; a repeated report replaces the earlier one."
        )
    },
)
