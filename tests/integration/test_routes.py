"""Every route of the URLconf under every guard: a door that nobody decided on fails here, before a stranger."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings as configured
from django.http import HttpResponse
from django.test import Client as HttpClient
from django.urls import URLPattern, URLResolver, get_resolver
from django.utils import timezone

from gateway.api.views import GatewayView, PublicView
from gateway.models import Batch, Client, Scope
from registry.models import Release
from tests.support.api import SECRET, Api, refused
from workspace.demo import DEMO_SUBJECT

TOOLSET = "<the id of one>"  # put in where a body is sent

# Doors behind a key, and what opens each: a body that works, or None for one that takes none.
GUARDED: dict[str, dict[str, Any] | None] = {
    "api/v1/help": {"path": "root"},
    "api/v1/exec": {"op": "util.schema.field_info", "args": {"entity_type": "ontology_task"}},
    "api/v1/batch": {"ops": [{"type": "help", "path": "root"}]},
    "api/v1/batches/<uuid:id>": None,
    "api/v1/toolset": {"format": "openai"},
    "api/v1/telemetry": {"toolset": TOOLSET, "turn": "t1"},
    "api/v1/events": None,
    "api/v1/releases": None,
    "api/v1/releases/<slug:version>": None,
}
WITH_BODY = [route for route, body in GUARDED.items() if body is not None]

# Doors without a key, and why that does no harm.
PUBLIC = {
    "api/schema": "the same document is in every checkout; it tells shapes, not ops",
    "api/docs": "a static page around the document",
    "healthz": "a load balancer has no key; it tells that the process answers",
    "readyz": "a load balancer has no key; it tells ok or not of a database and a release, without names",
}

# Doors with a lock of their own, and which.
OTHERWISE = {"metrics": "GATEWAY_METRICS_TOKEN; without it there is nothing here (tests/integration/test_metrics.py)"}

# Doors behind the same keys that answer as their protocol says, errors too; its tests knock at them.
PROTOCOLS = {
    "ofrep/v1/evaluate/flags": "tests/integration/test_ofrep.py",
    "ofrep/v1/evaluate/flags/<str:key>": "tests/integration/test_ofrep.py",
}

# Parts of the URLconf that are no doors of the API: pages with their own guards.
PAGES = {"admin/": "Django's sessions, staff and permissions; tests/integration/test_admin.py walks them"}

BATCH_ID = "3d2f6a4e-5b1c-4d7e-8f90-a1b2c3d4e5f6"
VERSION = "0" * 64
PLACES = {"<uuid:id>": BATCH_ID, "<slug:version>": VERSION}
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW")


def routes(patterns: list[URLPattern | URLResolver], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every route and its view; of pages only where they begin."""
    for pattern in patterns:
        route = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver) and route not in PAGES:
            yield from routes(pattern.url_patterns, route)
        elif isinstance(pattern, URLPattern):
            yield route, pattern.callback.cls
        else:
            yield route, None


ROUTES = dict(routes(get_resolver().url_patterns))


def address(route: str) -> str:
    """The address of a route, with an id where it has one."""
    for place, value in PLACES.items():
        route = route.replace(place, value).replace(place.upper(), value)
    return "/" + route


def open_with_key(api: Api, route: str) -> HttpResponse:
    body = GUARDED[route]
    if body and body.get("toolset") == TOOLSET:
        given = api.post("toolset", {"format": "openai"}).json()
        body = {**body, "toolset": given.get("id", TOOLSET)}
    if body is None:
        return api.http.get(address(route), headers=api.headers)
    return api.http.post(address(route), body, content_type="application/json", headers=api.headers)


def knock(http: HttpClient, route: str, method: str = "", body: bytes = b"{}", **sent: Any) -> HttpResponse:
    """Send a body to a door by the first method that carries one, else by GET."""
    method = method or ("POST" if "POST" in taken(route) else "GET")
    media_type = sent.pop("media_type", "application/json")
    return http.generic(method, address(route), body if method != "GET" else b"", media_type, **sent)


def taken(route: str) -> set[str]:
    view = ROUTES[route]
    return {method.upper() for method in view.http_method_names if hasattr(view, method)}


def test_every_route_has_a_decision_and_every_decision_a_route() -> None:
    # One list a decision, none in two: a new route goes into one of them, with its body or its reason.
    assert sorted([*GUARDED, *PROTOCOLS, *PUBLIC, *OTHERWISE, *PAGES]) == sorted(ROUTES)


def test_routes_are_these() -> None:
    assert {route: sorted(taken(route) - {"HEAD"}) for route in ROUTES if route not in PAGES} == {
        "api/v1/help": ["GET", "POST"],
        "api/v1/exec": ["POST"],
        "api/v1/batch": ["POST"],
        "api/v1/batches/<uuid:id>": ["DELETE", "GET"],
        "api/v1/toolset": ["POST"],
        "api/v1/telemetry": ["POST"],
        "api/v1/events": ["GET"],
        "api/v1/releases": ["GET"],
        "api/v1/releases/<slug:version>": ["GET"],
        "ofrep/v1/evaluate/flags": ["POST"],
        "ofrep/v1/evaluate/flags/<str:key>": ["POST"],
        "api/schema": ["GET"],
        "api/docs": ["GET"],
        "healthz": ["GET"],
        "readyz": ["GET"],
        "metrics": ["GET"],
    }


def test_every_door_is_one_view_with_all_guards() -> None:
    for route in [*GUARDED, *PROTOCOLS, *PUBLIC, *OTHERWISE]:
        view, is_guarded = ROUTES[route], route in GUARDED or route in PROTOCOLS
        assert issubclass(view, GatewayView), route
        assert issubclass(view, PublicView) != is_guarded, route
        if is_guarded:
            # A door that brings steps, keys, limits or permissions of its own has lost ours.
            for name in ("initial", "dispatch", "authentication_classes", "permission_classes", "throttle_classes"):
                assert name not in vars(view), (route, name)


@pytest.mark.parametrize("route", GUARDED)
def test_guarded_door_is_open_to_a_key(api: Api, live_catalog: Any, route: str) -> None:
    now, client = timezone.now(), Client.objects.get()
    Batch.objects.create(
        id=BATCH_ID,
        client=client,
        subject=DEMO_SUBJECT,
        mode="parallel",
        release=live_catalog.version,
        **dict.fromkeys(("created_at", "runs_until", "woken_at", "expires_at"), now + timedelta(hours=1)),
    )
    content = '{"format":1,"groups":[],"ops":[]}'
    Release.objects.create(version=VERSION, content=content, tokens={}, op_count=0, created_at=now, created_by="tests")

    response = open_with_key(api, route)

    assert response.status_code == 200, response.content


@pytest.mark.parametrize("route", GUARDED)
def test_guarded_door_is_shut_without_a_key_by_any_method(live_catalog: Any, route: str) -> None:
    for method in METHODS:
        for headers in ({}, {"Authorization": f"Bearer {SECRET}"}, {"X-API-Key": SECRET}, {"Cookie": f"key={SECRET}"}):
            response = knock(HttpClient(), route, method, headers=headers)

            assert refused(response, 401, "unauthenticated")["code"] == "PERMISSION_DENIED"
            assert response.headers["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize("route", GUARDED)
def test_guarded_door_takes_no_key_in_the_address_or_the_body(api: Api, route: str) -> None:
    key = api.headers["Authorization"].removeprefix("Bearer ")
    body = b'{"api_key": "%s"}' % key.encode()

    response = knock(HttpClient(), f"{route}", body=body, QUERY_STRING=f"api_key={key}&key={key}&access_token={key}")

    refused(response, 401, "unauthenticated")
    assert key not in response.content.decode()


@pytest.mark.parametrize("route", GUARDED)
def test_guarded_door_refuses_other_methods(api: Api, route: str) -> None:
    for method in set(METHODS) - taken(route):
        response = knock(api.http, route, method, headers=api.headers)

        said = refused(response, 405, "method_not_allowed")["message"]
        assert set(response.headers["Allow"].split(", ")) - {"HEAD"} == taken(route)
        assert all(each in said for each in taken(route))


@pytest.mark.parametrize("route", WITH_BODY)
def test_guarded_door_refuses_what_is_too_large_before_it_asks_for_a_key(db: None, route: str) -> None:
    for headers in ({}, {"Authorization": f"Bearer {SECRET}"}):
        body = b" " * (configured.GATEWAY_BODY_MAX_BYTES + 1)

        refused(knock(HttpClient(), route, body=body, headers=headers), 413, "too_large")


@pytest.mark.parametrize("route", WITH_BODY)
def test_guarded_door_refuses_other_media_types(api: Api, route: str) -> None:
    for media_type in ("text/plain", "application/xml", "multipart/form-data; boundary=x", ""):
        response = knock(api.http, route, media_type=media_type, headers=api.headers)

        refused(response, 415, "unsupported_media_type")


@pytest.mark.parametrize("route", WITH_BODY)
def test_guarded_door_refuses_a_key_over_its_rate_before_it_reads_the_body(
    live_catalog: Any, make_key: Callable[..., str], route: str
) -> None:
    api = Api(make_key(rate=1))

    first = knock(api.http, route, body=b"{", headers=api.headers)
    others = (knock(api.http, route, body=b"{", headers=api.headers) for _ in range(50))
    limited = next(response for response in others if response.status_code == 429)

    refused(first, 400, "invalid_json")
    refused(limited, 429, "rate_limited")
    assert int(limited.headers["Retry-After"]) >= 1


@pytest.mark.parametrize("route", GUARDED)
def test_guarded_door_asks_for_a_scope(live_catalog: Any, make_key: Callable[..., str], route: str) -> None:
    api = Api(make_key(scopes=[Scope.FLAGS]))

    refused(open_with_key(api, route), 403, "scope_missing")


@pytest.mark.parametrize("route", PUBLIC)
def test_public_door_answers_anybody_the_same(api: Api, route: str) -> None:
    plain = knock(HttpClient(), route)

    assert plain.status_code == 200
    for headers in (api.headers, {"Authorization": f"Bearer {SECRET}"}, {"Gateway-Subject": "two words"}):
        assert knock(HttpClient(), route, headers=headers).content == plain.content


@pytest.mark.parametrize("route", OTHERWISE)
def test_door_with_another_lock_is_not_opened_by_a_key_or_by_nothing(api: Api, settings: Any, route: str) -> None:
    settings.GATEWAY_METRICS_TOKEN = "another-lock"

    for headers in ({}, api.headers, {"Authorization": f"Bearer {SECRET}"}):
        refused(knock(HttpClient(), route, headers=headers), 404, "unknown_address")


@pytest.mark.parametrize("route", [*PUBLIC, *OTHERWISE])
def test_public_door_refuses_other_methods_and_what_is_too_large(live_catalog: Any, route: str) -> None:
    for method in set(METHODS) - taken(route):
        refused(knock(HttpClient(), route, method), 405, "method_not_allowed")

    refused(knock(HttpClient(), route, "GET", CONTENT_LENGTH="1000001"), 413, "too_large")


@pytest.mark.parametrize("route", PUBLIC)
def test_public_door_tells_no_secret_and_no_op(live_catalog: Any, route: str) -> None:
    text = knock(HttpClient(), route).content.decode()

    for untold in (configured.SECRET_KEY, configured.GATEWAY_KEY_PEPPER, "onto.task", "update_onto_task", "demo-user"):
        assert untold not in text


@pytest.mark.parametrize("route", [*GUARDED, *PUBLIC, *OTHERWISE])
def test_variants_of_a_door_are_no_doors(api: Api, route: str) -> None:
    for variant in (f"{route}/", f"{route}.json", f"/{route}", f"{route}/x/x", route.upper(), f"{route};x"):
        variant = address(variant)[1:]
        response = api.http.generic("POST", f"/{variant}", b"{}", "application/json", headers=api.headers)

        refused(response, 404, "unknown_address")
