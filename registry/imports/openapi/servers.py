"""Where a service is, and how it wants callers to authenticate."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urljoin, urlsplit

from registry.imports.openapi import swagger
from registry.imports.openapi.references import DanglingReference, OtherHost, References

AuthKind = Literal["none", "bearer", "basic", "api_key", "oauth2_client_credentials", "oauth2_authorization_code"]


@dataclass(frozen=True, slots=True)
class SecurityScheme:
    """How to authenticate. `name` and `location` (header, query, cookie) are those of an API key."""

    kind: AuthKind = "none"
    name: str = ""
    location: str = ""
    token_url: str = ""
    authorize_url: str = ""
    scopes: tuple[str, ...] = ()


def find_base_url(document: Mapping[str, Any], url: str) -> str:
    """Return the address of the first server, with the defaults of its variables; "" if the document has none."""
    servers = swagger.convert_servers(document) if "swagger" in document else document.get("servers")
    first = next((each for each in servers if isinstance(each, dict)), {}) if isinstance(servers, list) else {}
    address = str(first.get("url") or "/").strip()
    variables = first.get("variables")
    for name, variable in variables.items() if isinstance(variables, dict) else ():
        if isinstance(variable, dict):
            address = address.replace(f"{{{name}}}", str(variable.get("default", "")))
    whole = urljoin(url, address) if url.startswith(("http://", "https://")) else address
    if whole.startswith("//"):
        whole = f"https:{whole}"
    return whole.rstrip("/") if _is_usable(whole) else ""


def find_security(document: Mapping[str, Any], references: References, url: str) -> SecurityScheme:
    """Return the scheme that most operations use, if the gateway knows it; else the first one that it knows."""
    components = document.get("components")
    schemes = (
        document.get("securityDefinitions")
        if "swagger" in document
        else components.get("securitySchemes")
        if isinstance(components, dict)
        else None
    )
    known: dict[str, SecurityScheme] = {}
    for name, scheme in schemes.items() if isinstance(schemes, dict) else ():
        try:
            value = references.follow(scheme, url).value
        except (DanglingReference, OtherHost):
            continue
        if isinstance(value, dict) and (found := _read_scheme(value, "swagger" in document)):
            known[name] = found
    wanted = [name for name in _iter_required(document.get("security")) if name in known]
    return known[wanted[0]] if wanted else next(iter(known.values()), SecurityScheme())


def _iter_required(security: Any) -> Iterable[str]:
    for requirement in security if isinstance(security, list) else ():
        yield from requirement if isinstance(requirement, dict) else ()


def _read_scheme(value: Mapping[str, Any], is_swagger: bool) -> SecurityScheme | None:
    scheme = swagger.convert_security_scheme(value) if is_swagger else value
    kind = scheme.get("type")
    if kind == "http":
        name = str(scheme.get("scheme", "")).lower()
        return SecurityScheme("bearer") if name == "bearer" else SecurityScheme("basic") if name == "basic" else None
    if kind == "apiKey":
        name, location = str(scheme.get("name", "")), str(scheme.get("in", "header"))
        if name.lower() == "authorization" and location == "header":
            return SecurityScheme("bearer")
        return SecurityScheme("api_key", name[:200], location) if location in ("header", "query", "cookie") else None
    return _read_oauth(scheme.get("flows")) if kind == "oauth2" else None


def _read_oauth(flows: Any) -> SecurityScheme | None:
    if not isinstance(flows, dict):
        return None
    if isinstance(flow := flows.get("authorizationCode"), dict):
        return SecurityScheme(
            "oauth2_authorization_code",
            token_url=_read_url(flow, "tokenUrl"),
            authorize_url=_read_url(flow, "authorizationUrl"),
            scopes=_read_scopes(flow),
        )
    if isinstance(flow := flows.get("clientCredentials"), dict):
        return SecurityScheme(
            "oauth2_client_credentials", token_url=_read_url(flow, "tokenUrl"), scopes=_read_scopes(flow)
        )
    return SecurityScheme("bearer")  # the other flows need a browser or a password; a token works for all


def _read_url(flow: Mapping[str, Any], key: str) -> str:
    url = str(flow.get(key) or "")[:500]
    return url if _is_usable(url) else ""


def _read_scopes(flow: Mapping[str, Any]) -> tuple[str, ...]:
    scopes = flow.get("scopes")
    return tuple(map(str, scopes)) if isinstance(scopes, dict) else ()


def _is_usable(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and "{" not in url and parts.port != 0
    except ValueError:
        return False
