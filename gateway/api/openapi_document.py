"""The OpenAPI 3.1 document of all endpoints."""

from functools import cache
from typing import Any

import orjson
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.generators import SchemaGenerator

from gateway.api import batches, endpoint_docs, events, exec, help, releases, toolset

# Named components of the document, so that generated clients get named types.
COMPONENTS: dict[str, Any] = {
    **endpoint_docs.COMPONENTS,
    **help.COMPONENTS,
    **help.DISCOVER_COMPONENTS,
    **exec.COMPONENTS,
    **batches.COMPONENTS,
    **releases.COMPONENTS,
    **toolset.COMPONENTS,
    **toolset.TELEMETRY_COMPONENTS,
    **events.COMPONENTS,
}


# The order of the page: first what every client calls.
PATH_ORDER = ("help", "exec", "batch", "batches", "toolset", "telemetry")
METHOD_ORDER = ("post", "get", "delete")


class ApiKeyScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]  # registers itself, untyped
    """Describes Bearer keys, so that the Authorize button of the docs page works."""

    target_class = "gateway.api.authentication.KeyAuthentication"
    name = "apiKey"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "description": "An API key, without “Bearer”."}


@cache
def render_document() -> bytes:
    """Return the OpenAPI document of all endpoints as JSON; built once per process."""
    return orjson.dumps(SchemaGenerator().get_schema(request=None, public=True))  # type: ignore[no-untyped-call]


def add_components(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Add our named components and the examples, and put paths in order (a drf-spectacular post-processing hook)."""
    result["components"].setdefault("schemas", {}).update(COMPONENTS)
    for endpoints in result["paths"].values():
        for endpoint in endpoints.values():
            if "requestBody" in endpoint:
                endpoint["requestBody"]["required"] = True
    result["paths"] = dict(sorted(result["paths"].items(), key=lambda item: _get_place(item[0])))
    for path, endpoints in result["paths"].items():
        result["paths"][path] = dict(sorted(endpoints.items(), key=lambda item: METHOD_ORDER.index(item[0])))
    endpoint_docs.add_examples(result)
    return result


def _get_place(path: str) -> tuple[int, str]:
    """Return the place of a path in the document: what every client calls first, then the others by name."""
    name = path.removeprefix("/api/v1/").partition("/")[0]
    return (PATH_ORDER.index(name) if name in PATH_ORDER else len(PATH_ORDER)), path
