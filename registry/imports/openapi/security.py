"""How a service wants callers to authenticate."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from registry.imports.openapi import swagger
from registry.imports.openapi.references import DanglingReference, OtherHost, References
from registry.imports.openapi.servers import is_usable
from registry.request_mapping import is_header_allowed

AuthKind = Literal["none", "bearer", "basic", "api_key", "oauth2_client_credentials", "oauth2_authorization_code"]
MAX_NAME = 100  # characters of the name of a key
MAX_KEYS = 8  # API keys that one call sends
Requirement = tuple[str, ...]  # names of schemes that a call needs together


@dataclass(frozen=True, slots=True)
class SecurityScheme:
    """How to authenticate. `name` and `location` (header, query, cookie) are those of an API key.

    `more_keys` are (location, name) of the API keys that each call needs besides.
    """

    kind: AuthKind = "none"
    name: str = ""
    location: str = ""
    token_url: str = ""
    authorize_url: str = ""
    scopes: tuple[str, ...] = ()
    more_keys: tuple[tuple[str, str], ...] = ()


def find_security(
    document: Mapping[str, Any], references: References, url: str, operations: Iterable[Mapping[str, Any]]
) -> tuple[SecurityScheme, list[str]]:
    """Return how most operations authenticate, as far as the gateway knows it, and remarks on what it leaves out.

    If no operation needs anything, a scheme that the document describes is still taken: many documents forget to refer
    to it.
    """
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
            known[str(name)] = found
    counts: Counter[Requirement] = Counter()
    for operation in operations:
        own = operation.get("security", document.get("security"))
        if names := _choose_requirement(own, known):
            counts[names] += 1
    if not counts and (names := _choose_requirement(document.get("security"), known)):
        counts[names] += 1
    if not counts:
        return next(iter(known.values()), SecurityScheme()), []
    (chosen, _), *others = counts.most_common()
    scheme, remarks = _join_schemes([known[name] for name in chosen if name in known])
    unsent = sorted({name for names, _ in others for name in names} - set(chosen))
    if unsent:
        count = sum(number for names, number in others if set(names) - set(chosen))
        remarks.append(
            f"{count} operations need other credentials, which this connection does not send: "
            f"{', '.join(name[:60] for name in unsent[:10])}. Import them into a connection of their own."
        )
    return scheme, remarks


def _choose_requirement(security: Any, known: Mapping[str, SecurityScheme]) -> Requirement:
    """Return the first alternative that the gateway knows whole, else the first of which it knows a part."""
    alternatives = [
        tuple(map(str, each)) for each in (security if isinstance(security, list) else ()) if isinstance(each, dict)
    ]
    whole = (each for each in alternatives if each and all(name in known for name in each))
    partly = (each for each in alternatives if any(name in known for name in each))
    return next(whole, next(partly, ()))


def _join_schemes(schemes: list[SecurityScheme]) -> tuple[SecurityScheme, list[str]]:
    """Return one scheme for several that a call needs together: one of another kind, and any number of API keys."""
    keys = list(dict.fromkeys((each.location, each.name) for each in schemes if each.kind == "api_key"))
    others = [each for each in schemes if each.kind != "api_key"]
    remarks = []
    if len({each.kind for each in others}) > 1:
        remarks.append("Calls need several tokens together. The connection sends one of them.")
    if others:
        first, more = others[0], keys
    else:
        first, more = schemes[0], keys[1:]
    if len(more) > MAX_KEYS:
        remarks.append(f"Calls need {len(keys)} API keys together. The connection sends {MAX_KEYS} of them.")
    scheme = SecurityScheme(
        first.kind,
        first.name,
        first.location,
        first.token_url,
        first.authorize_url,
        first.scopes,
        tuple(more[:MAX_KEYS]),
    )
    if more:
        names = ", ".join(f"{name} ({place})" for place, name in keys)
        token = {"bearer": "a bearer token, ", "basic": "a user name and password, "}.get(first.kind, "")
        token = "an OAuth 2.0 token, " if first.kind.startswith("oauth2") else token
        remarks.append(f"Each call needs {token}{names}. Enter all of them on the page of the connection.")
    return scheme, remarks


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
        is_sendable = is_header_allowed(name) if location == "header" else location in ("query", "cookie") and name
        return SecurityScheme("api_key", name[:MAX_NAME], location) if is_sendable else None
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
    return url if is_usable(url) else ""


def _read_scopes(flow: Mapping[str, Any]) -> tuple[str, ...]:
    scopes = flow.get("scopes")
    return tuple(map(str, scopes)) if isinstance(scopes, dict) else ()
