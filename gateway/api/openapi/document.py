"""The OpenAPI 3.1 document of all endpoints."""

from functools import cache
from typing import Any

import orjson
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.generators import SchemaGenerator

from gateway.api.openapi import batches, discover, envelopes, events, exec, help, releases, telemetry, toolset

# Named components of the document, so that generated clients get named types.
COMPONENTS: dict[str, Any] = {
    **envelopes.COMPONENTS,
    **help.COMPONENTS,
    **discover.COMPONENTS,
    **exec.COMPONENTS,
    **batches.COMPONENTS,
    **releases.COMPONENTS,
    **toolset.COMPONENTS,
    **telemetry.COMPONENTS,
    **events.COMPONENTS,
}


class ApiKeyScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]  # registers itself, untyped
    """Describes Bearer keys, so that the Authorize button of the docs page works."""

    target_class = "gateway.api.authentication.KeyAuthentication"
    name = "apiKey"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "description": "An API key."}


@cache
def render_document() -> bytes:
    """Return the OpenAPI document of all endpoints as JSON; built once per process."""
    return orjson.dumps(SchemaGenerator().get_schema(request=None, public=True))  # type: ignore[no-untyped-call]


def add_components(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Add our named components and mark request bodies as required (a drf-spectacular post-processing hook)."""
    result["components"].setdefault("schemas", {}).update(COMPONENTS)
    for endpoints in result["paths"].values():
        for endpoint in endpoints.values():
            if "requestBody" in endpoint:
                endpoint["requestBody"]["required"] = True
    return result
