"""Swagger 2.0 as OpenAPI 3: its parameters, bodies, servers and security schemes in the newer form."""

from collections.abc import Mapping
from typing import Any

_STYLES: dict[str, dict[str, Any]] = {
    "csv": {"style": "form", "explode": False},
    "ssv": {"style": "spaceDelimited", "explode": False},
    "tsv": {"style": "tabDelimited", "explode": False},  # OpenAPI 3 has no tabs
    "pipes": {"style": "pipeDelimited", "explode": False},
    "multi": {"style": "form", "explode": True},
}
_NOT_IN_SCHEMAS = frozenset(
    ["name", "in", "description", "required", "collectionFormat", "x-example", "allowEmptyValue"]
)
_FLOWS = {"implicit": "implicit", "password": "password", "application": "clientCredentials"}
_FLOWS |= {"accessCode": "authorizationCode"}


def convert_parameter(parameter: Mapping[str, Any]) -> dict[str, Any]:
    """Return a parameter that is neither body nor form field."""
    schema = {key: value for key, value in parameter.items() if key not in _NOT_IN_SCHEMAS}
    converted = {key: parameter[key] for key in ("name", "in", "description", "required") if key in parameter}
    if "x-example" in parameter:
        converted["example"] = parameter["x-example"]
    if parameter.get("type") == "array":
        style = _STYLES.get(parameter.get("collectionFormat", "csv"), _STYLES["csv"])
        if parameter.get("in") == "query" or style["style"] != "form":  # elsewhere, commas are the default
            converted |= style
    return converted | {"schema": schema}


def convert_body(parameters: list[dict[str, Any]], consumes: list[str]) -> dict[str, Any] | None:
    """Return the request body that body and form parameters describe; None if there are none."""
    whole = next((each for each in parameters if each.get("in") == "body"), None)
    if whole is not None:
        media_types = [each for each in consumes if isinstance(each, str)] or ["application/json"]
        return {
            "required": whole.get("required") is True,
            "description": whole.get("description", ""),
            "content": {media_type: {"schema": whole.get("schema", {})} for media_type in media_types},
        }
    fields = [each for each in parameters if each.get("in") == "formData" and isinstance(each.get("name"), str)]
    return _convert_form(fields, consumes) if fields else None


def _convert_form(fields: list[dict[str, Any]], consumes: list[str]) -> dict[str, Any]:
    properties, encoding = {}, {}
    for each in fields:
        properties[each["name"]] = convert_parameter(each)["schema"] | {
            key: each[key] for key in ("description",) if key in each
        }
        if each.get("type") == "array":
            encoding[each["name"]] = _STYLES.get(each.get("collectionFormat", "csv"), _STYLES["csv"])
    has_file = any(each.get("type") == "file" for each in fields)
    multipart, form = "multipart/form-data", "application/x-www-form-urlencoded"
    media_type = multipart if has_file or (multipart in consumes and form not in consumes) else form
    required = [each["name"] for each in fields if each.get("required") is True]
    schema = {"type": "object", "properties": properties, "required": required}
    return {"required": bool(required), "content": {media_type: {"schema": schema, "encoding": encoding}}}


def convert_servers(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the servers."""
    host, base = document.get("host"), str(document.get("basePath") or "/").strip()
    if "://" in base:  # a whole address: only its path belongs here
        base = base.partition("://")[2].partition("/")[2]
    base = base if base.startswith("/") else f"/{base}"  # else it would be the end of the host's name
    if not isinstance(host, str) or not host.strip():
        return [{"url": base}]
    schemes = document.get("schemes")
    names = [each for each in schemes if each in ("http", "https")] if isinstance(schemes, list) else []
    written, has_scheme, rest = host.strip().rpartition("://")
    scheme = written.lower() if has_scheme else "https" if "https" in names or not names else names[0]
    return [{"url": f"{scheme}://{rest.rstrip('/')}/{base.lstrip('/')}"}]


def convert_security_scheme(scheme: Mapping[str, Any]) -> dict[str, Any]:
    """Return a security scheme."""
    if scheme.get("type") == "basic":
        return {"type": "http", "scheme": "basic"}
    if scheme.get("type") != "oauth2":
        return dict(scheme)
    flow = {key: scheme[key] for key in ("tokenUrl", "authorizationUrl", "scopes") if key in scheme}
    return {"type": "oauth2", "flows": {_FLOWS.get(str(scheme.get("flow")), "implicit"): flow}}


def convert_response(response: Mapping[str, Any], produces: list[str]) -> dict[str, Any]:
    """Return a response."""
    if "schema" not in response:
        return dict(response)
    media_types = [each for each in produces if isinstance(each, str)] or ["application/json"]
    return {**response, "content": {media_type: {"schema": response["schema"]} for media_type in media_types}}
