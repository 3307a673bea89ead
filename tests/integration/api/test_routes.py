"""Every route of the URLconf has a declared protection, and each protection holds."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings as configured
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpResponse
from django.test import Client as HttpClient
from django.urls import URLPattern, URLResolver, get_resolver
from django.utils import timezone

from analytics.flags import FlagKey
from analytics.rollout.experiments import Experiment
from gateway.api.authentication import KeyAuthentication
from gateway.api.base import GatewayView, PublicView
from gateway.models import Batch, Client, Scope, StoredFile
from registry.models import Release
from tests.support.clients.api import SECRET, Api, assert_refused
from tests.support.loops import for_each
from workspace.demo import DEMO_SUBJECT

TOOLSET = "<toolset id>"  # replaced by a real id before a request

REPORTS = [f"api/v1/reports/{name}" for name in ("compare", "misses", "ops", "overview")]
REPORTS += ["api/v1/experiments", "api/v1/experiments/<int:id>"]

# A body that is a file and no JSON.
UPLOAD = {"file": "a form"}

# Routes that need a key, each with a valid body, or None if it takes none.
GUARDED: dict[str, dict[str, Any] | None] = {
    "api/v1/help": {"path": "root"},
    "api/v1/exec": {"op": "util.schema.field_info", "args": {"entity_type": "ontology_task"}},
    "api/v1/answers": {"token": "input_x", "action": "decline"},
    "api/v1/batch": {"ops": [{"type": "help", "path": "root"}]},
    "api/v1/batches/<uuid:id>": None,
    "api/v1/discover/<slug:name>": {},
    "api/v1/toolset": {"format": "openai"},
    "api/v1/toolset/<str:id>/escalate": {"missing_tool": "web_search"},
    "api/v1/telemetry": {"toolset": TOOLSET, "turn": "t1"},
    "api/v1/feedback": {"turn": "t1", "thumb": "up"},
    "api/v1/events": None,
    "api/v1/connect-link": None,
    "api/v1/files": UPLOAD,
    "api/v1/files/<uuid:id>": None,
    "api/v1/releases": None,
    "api/v1/releases/<slug:version>": None,
    **dict.fromkeys(REPORTS),
}
WITH_BODY = [route for route, body in GUARDED.items() if body not in (None, UPLOAD)]

# Routes without a key, and why that is safe.
PUBLIC = {
    "api/schema": "the same document is in every checkout; it shows shapes, not ops",
    "api/docs": "a static page around the document",
    "healthz": "a load balancer has no key; it shows that the process answers",
    "readyz": "a load balancer has no key; it shows whether database and release are ok, without names",
}

# Routes with a protection of their own.
OWN_PROTECTION = {"metrics": "GATEWAY_METRICS_TOKEN, else not found (tests/integration/api/test_metrics.py)"}

# Routes with the same keys whose responses and errors follow another protocol. These files test them.
PROTOCOLS = {
    "ofrep/v1/evaluate/flags": "tests/integration/rollout/test_ofrep.py",
    "ofrep/v1/evaluate/flags/<str:key>": "tests/integration/rollout/test_ofrep.py",
    "mcp": "tests/integration/mcp/test_mcp.py",
}

# Routes of pages, which have their own protection.
PAGES = {
    "": "a redirect to the console, for browsers only; tests/integration/console/test_admin_error_pages.py",
    "account/": "the session of who has signed in; tests/integration/access/test_second_factor.py",
    "admin/": "Django's sessions, staff and permissions; tests/integration/console/test_admin.py opens them",
    **dict.fromkeys(
        [
            "connect/user/",
            "connect/user/open",
            "connect/user/keys/<str:name>",
            "connect/user/keys/<str:name>/delete",
            "connect/user/sign-ins/<str:name>/delete",
        ],
        "a signed link, opened once, then a signed cookie; tests/integration/access/test_user_keys.py",
    ),
    "connect/callback": "a signed state, valid once; tests/integration/access/test_user_sign_in.py",
    "connect/<str:name>": "a signed link; tests/integration/access/test_user_sign_in.py",
}

BATCH_ID = "3d2f6a4e-5b1c-4d7e-8f90-a1b2c3d4e5f6"
VERSION = "0" * 64
PATH_PARAMETERS = {
    "<uuid:id>": BATCH_ID,
    "<slug:version>": VERSION,
    "<int:id>": "7",
    "<slug:name>": "discover_project_tools",
    "<str:id>": TOOLSET,
}
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW")


@pytest.fixture(autouse=True)
def _gateway_url(settings: Any) -> None:
    settings.GATEWAY_URL = "https://gateway.example.com"  # links for end users need it


def iterate_routes(patterns: list[URLPattern | URLResolver], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every route and its view. Routes below a page prefix are left out."""
    for pattern in patterns:
        route = prefix + str(pattern.pattern)
        if route in PAGES:
            yield route, None
        elif isinstance(pattern, URLResolver):
            yield from iterate_routes(pattern.url_patterns, route)
        else:
            yield route, pattern.callback.cls


ROUTES = dict(iterate_routes(get_resolver().url_patterns))


def build_address(route: str) -> str:
    """Return the address of a route, with ids in place of its parameters."""
    for parameter, value in PATH_PARAMETERS.items():
        route = route.replace(parameter, value).replace(parameter.upper(), value)
    return "/" + route


def send_valid_request(api: Api, route: str) -> HttpResponse:
    body, address = GUARDED[route], build_address(route)
    if body is None:
        return api.http.get(address, headers=api.headers)
    if body is UPLOAD:
        return api.http.post(address, {"file": SimpleUploadedFile("a.txt", b"hello")}, headers=api.headers)
    if TOOLSET in address or TOOLSET in body.values():
        id = api.post("toolset", {"format": "openai"}).json().get("id", "nonsense")
        address = address.replace(TOOLSET, id)
        body = {name: id if value == TOOLSET else value for name, value in body.items()}
    return api.http.post(address, body, content_type="application/json", headers=api.headers)


def send_request(http: HttpClient, route: str, method: str = "", body: bytes = b"{}", **options: Any) -> HttpResponse:
    """Send a body by POST if the route takes it, else send a GET."""
    method = method or ("POST" if "POST" in list_methods(route) else "GET")
    media_type = options.pop("media_type", "application/json")
    return http.generic(method, build_address(route), body if method != "GET" else b"", media_type, **options)


def list_methods(route: str) -> set[str]:
    view = ROUTES[route]
    return {method.upper() for method in view.http_method_names if hasattr(view, method)}


def test_every_route_has_exactly_one_declared_protection() -> None:
    # Add a new route to one of the tables above, with a body or a reason.
    assert sorted([*GUARDED, *PROTOCOLS, *PUBLIC, *OWN_PROTECTION, *PAGES]) == sorted(ROUTES)


def test_routes_accept_exactly_these_methods() -> None:
    assert {route: sorted(list_methods(route) - {"HEAD"}) for route in ROUTES if route not in PAGES} == {
        "api/v1/help": ["GET", "POST"],
        "api/v1/exec": ["POST"],
        "api/v1/answers": ["POST"],
        "api/v1/batch": ["POST"],
        "api/v1/batches/<uuid:id>": ["DELETE", "GET"],
        "api/v1/discover/<slug:name>": ["POST"],
        "api/v1/toolset": ["POST"],
        "api/v1/toolset/<str:id>/escalate": ["POST"],
        "api/v1/telemetry": ["POST"],
        "api/v1/feedback": ["POST"],
        "api/v1/events": ["GET"],
        "api/v1/connect-link": ["GET"],
        "api/v1/files": ["POST"],
        "api/v1/files/<uuid:id>": ["GET"],
        "api/v1/releases": ["GET"],
        "api/v1/releases/<slug:version>": ["GET"],
        **{route: ["GET"] for route in REPORTS},
        "ofrep/v1/evaluate/flags": ["POST"],
        "ofrep/v1/evaluate/flags/<str:key>": ["POST"],
        "mcp": ["POST"],
        "api/schema": ["GET"],
        "api/docs": ["GET"],
        "healthz": ["GET"],
        "readyz": ["GET"],
        "metrics": ["GET"],
    }


def test_every_view_keeps_the_shared_checks() -> None:
    for route in [*GUARDED, *PROTOCOLS, *PUBLIC, *OWN_PROTECTION]:
        view, is_guarded = ROUTES[route], route in GUARDED or route in PROTOCOLS
        assert issubclass(view, GatewayView), route
        assert issubclass(view, PublicView) != is_guarded, route
        if is_guarded:
            # A view that overrides one of these no longer has the shared checks.
            for name in ("initial", "dispatch", "admit", "take_call", "finalize_response"):
                assert name not in vars(view), (route, name)
            assert all(issubclass(each, KeyAuthentication) for each in view.authentication_classes), route


def test_protected_routes_accept_a_key(make_key: Callable[..., str], live_catalog: Any) -> None:
    api = Api(make_key(scopes=list(Scope.values)))
    now, client = timezone.now(), Client.objects.get()
    Batch.objects.create(
        id=BATCH_ID,
        client=client,
        subject=DEMO_SUBJECT,
        mode="parallel",
        release=live_catalog.version,
        **dict.fromkeys(("created_at", "runs_until", "woken_at", "expires_at"), now + timedelta(hours=1)),
    )
    StoredFile.objects.create(
        id=BATCH_ID,
        client=client,
        subject=DEMO_SUBJECT,
        content_type="text/plain",
        size=0,
        created_at=now,
        expires_at=now + timedelta(hours=1),
    )
    content = '{"format":1,"groups":[],"ops":[]}'
    Release.objects.create(version=VERSION, content=content, tokens={}, op_count=0, created_at=now, created_by="tests")

    Experiment.objects.create(pk=7, name="tools", flag_id=FlagKey.SURFACE)

    for route in GUARDED:
        response = send_valid_request(api, route)
        expected = 409 if route == "api/v1/answers" else 200  # no call waits for an answer
        assert response.status_code == expected, (route, response.content)


# Bodies of protocols whose requests name nothing but the method.
PROTOCOL_BODIES = {"mcp": b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}'}


@for_each("route", [*GUARDED, *PROTOCOLS])
@for_each(
    "subject, reason, statuses",
    [
        ("demo-colleague", "cannot act for this subject", {403, 400}),  # 400: MCP, whose clients would sign in again
        ("demo-user ", "", {200, 400, 404}),  # white space around a header is not part of it
        ("demo user", "Gateway-Subject is malformed", {400}),
        ("demo-us\u00e9r", "Gateway-Subject is malformed", {400}),
        ("demo-user\x7f", "Gateway-Subject is malformed", {400}),
        ("demo-*", "cannot act for this subject", {403, 400}),
        ("d" * 201, "Gateway-Subject is malformed", {400}),
        ("", "Gateway-Subject is malformed", {400}),
    ],
)
def test_key_that_is_bound_to_a_subject_speaks_for_no_other(
    make_key: Callable[..., str], live_catalog: Any, route: str, subject: str, reason: str, statuses: set[int]
) -> None:
    key = make_key(subject=DEMO_SUBJECT, scopes=list(Scope.values))
    headers = {"Authorization": f"Bearer {key}", "Gateway-Subject": subject}
    headers |= {"Accept": "application/json, text/event-stream"}
    for method in list_methods(route) - {"HEAD"}:
        body = PROTOCOL_BODIES.get(route, b"{}")

        response = send_request(HttpClient(), route, method, body, headers=headers)

        refused = {403} if route in REPORTS else set()  # they cover all users of a client
        assert response.status_code in statuses | refused, response.content
        assert reason in response.content.decode()


@for_each("route", GUARDED)
def test_protected_route_refuses_every_method_without_a_key(live_catalog: Any, route: str) -> None:
    for method in METHODS:
        for headers in ({}, {"Authorization": f"Bearer {SECRET}"}, {"X-API-Key": SECRET}, {"Cookie": f"key={SECRET}"}):
            response = send_request(HttpClient(), route, method, headers=headers)

            assert assert_refused(response, 401, "unauthenticated")["code"] == "PERMISSION_DENIED"
            assert response.headers["WWW-Authenticate"] == "Bearer"


@for_each("route", GUARDED)
def test_protected_route_ignores_keys_in_address_and_body(api: Api, route: str) -> None:
    key = api.headers["Authorization"].removeprefix("Bearer ")
    body = b'{"api_key": "%s"}' % key.encode()

    response = send_request(
        HttpClient(), f"{route}", body=body, QUERY_STRING=f"api_key={key}&key={key}&access_token={key}"
    )

    assert_refused(response, 401, "unauthenticated")
    assert key not in response.content.decode()


@for_each("route", GUARDED)
def test_protected_route_refuses_other_methods(make_key: Callable[..., str], live_catalog: Any, route: str) -> None:
    api = Api(make_key(scopes=list(Scope.values)))
    for method in set(METHODS) - list_methods(route):
        response = send_request(api.http, route, method, headers=api.headers)

        error = assert_refused(response, 405, "method_not_allowed")
        assert error["code"] == "NOT_FOUND"
        assert set(response.headers["Allow"].split(", ")) - {"HEAD"} == list_methods(route)
        assert all(each in error["message"] for each in list_methods(route))


@for_each("route", WITH_BODY)
def test_protected_route_refuses_a_large_body_before_it_checks_the_key(db: None, route: str) -> None:
    for headers in ({}, {"Authorization": f"Bearer {SECRET}"}):
        body = b" " * (configured.GATEWAY_BODY_MAX_BYTES + 1)

        assert_refused(send_request(HttpClient(), route, body=body, headers=headers), 413, "too_large")


@for_each("route", WITH_BODY)
def test_protected_route_refuses_other_media_types(api: Api, route: str) -> None:
    for media_type in ("text/plain", "application/xml", "multipart/form-data; boundary=x", ""):
        response = send_request(api.http, route, media_type=media_type, headers=api.headers)

        assert_refused(response, 415, "unsupported_media_type")


@for_each("route", WITH_BODY)
def test_protected_route_checks_the_rate_before_it_parses_the_body(
    live_catalog: Any, make_key: Callable[..., str], route: str
) -> None:
    api = Api(make_key(rate=1))

    first = send_request(api.http, route, body=b"{", headers=api.headers)
    others = (send_request(api.http, route, body=b"{", headers=api.headers) for _ in range(50))
    limited = next(response for response in others if response.status_code == 429)

    assert_refused(first, 400, "invalid_json")
    assert_refused(limited, 429, "rate_limited")
    assert int(limited.headers["Retry-After"]) >= 1


@for_each("route", GUARDED)
def test_protected_route_needs_a_scope(live_catalog: Any, make_key: Callable[..., str], route: str) -> None:
    api = Api(make_key(scopes=[Scope.FLAGS]))

    assert_refused(send_valid_request(api, route), 403, "scope_missing")


@for_each("route", PUBLIC)
def test_public_route_answers_every_caller_alike(api: Api, route: str) -> None:
    anonymous = send_request(HttpClient(), route)

    assert anonymous.status_code == 200
    for headers in (api.headers, {"Authorization": f"Bearer {SECRET}"}, {"Gateway-Subject": "two words"}):
        assert send_request(HttpClient(), route, headers=headers).content == anonymous.content


@for_each("route", [*PUBLIC, *OWN_PROTECTION])
def test_public_route_refuses_other_methods_and_large_bodies(live_catalog: Any, route: str) -> None:
    for method in set(METHODS) - list_methods(route):
        assert_refused(send_request(HttpClient(), route, method), 405, "method_not_allowed")

    assert_refused(send_request(HttpClient(), route, "GET", CONTENT_LENGTH="1000001"), 413, "too_large")


@for_each("route", PUBLIC)
def test_public_route_shows_no_secrets_and_no_ops(live_catalog: Any, route: str) -> None:
    text = send_request(HttpClient(), route).content.decode()

    # The examples in the document are fixed text about a few shipped ops. These ops are not among them.
    names = ("onto.milestone", "update_onto_milestone", "demo-user")
    for secret in (configured.SECRET_KEY, configured.GATEWAY_KEY_PEPPER, *names):
        assert secret not in text


@for_each("route", [*GUARDED, *PUBLIC, *OWN_PROTECTION])
def test_variants_of_a_route_are_not_found(api: Api, route: str) -> None:
    for variant in (f"{route}/", f"{route}.json", f"/{route}", f"{route}/x/x", route.upper(), f"{route};x"):
        variant = build_address(variant)[1:]
        response = api.http.generic("POST", f"/{variant}", b"{}", "application/json", headers=api.headers)

        assert_refused(response, 404, "unknown_address")
