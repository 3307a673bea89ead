"""Pages outside the console: the API docs and their document, the front page, sign-in of end users."""

from functools import cache
from hashlib import sha256
from typing import Any
from urllib.parse import urlencode

import orjson
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_GET
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.utils import extend_schema

from core import manifest
from core.admin.page_parts import PLAIN_PAGE_POLICY, is_browser
from gateway.api import batches, endpoint_docs, events, exec, files, help, releases, toolset
from gateway.api.base import JSON_CONTENT_TYPE, PublicView
from gateway.api.end_users import connect_link
from gateway.api.reports import experiments
from gateway.api.reports import schemas as report_schemas
from gateway.credentials import user_sign_in
from gateway.credentials.user_sign_in import SignInFailed

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
    **files.COMPONENTS,
    **connect_link.COMPONENTS,
    **report_schemas.COMPONENTS,
    **experiments.COMPONENTS,
}

# The order of the page: first the endpoints that every client calls.
PATH_ORDER = ("help", "exec", "batch", "batches", "answers", "toolset", "telemetry", "feedback")
METHOD_ORDER = ("post", "get", "delete")
PRIVATE = {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer"}
COOKIE = "sign_in_"
ASKED = "sign_in_asked"


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
    """Return the place of a path in the document: endpoints that every client calls first, then by name."""
    name = path.removeprefix("/api/v1/").partition("/")[0]
    return (PATH_ORDER.index(name) if name in PATH_ORDER else len(PATH_ORDER)), path


def _get_chat_url() -> str:
    return next((page("") for page in manifest.get().chat_pages), "")


class SchemaView(PublicView):
    """The OpenAPI document."""

    @extend_schema(exclude=True)
    def get(self, request: HttpRequest) -> HttpResponse:
        return HttpResponse(render_document(), content_type=JSON_CONTENT_TYPE)


class DocsView(PublicView):
    """The OpenAPI document as an interactive page. All its assets are served from here."""

    @extend_schema(exclude=True)
    def get(self, request: HttpRequest) -> HttpResponse:
        return render(request, "gateway/docs.html", {"chat_url": _get_chat_url()})


@csrf_exempt  # it changes nothing, and clients that send something read the same error
def front_page(request: HttpRequest) -> HttpResponse:
    """Say what this is, and where things are; staff go to the console. Raises Http404 for clients but browsers."""
    if request.method not in ("GET", "HEAD") or not is_browser(request):
        raise Http404
    if request.user.is_authenticated and request.user.is_staff:
        return redirect("admin:index")
    page = render(request, "gateway/front.html", {"chat_url": _get_chat_url()})
    page.headers["Content-Security-Policy"] = PLAIN_PAGE_POLICY
    return page


@require_GET
def begin_page(request: HttpRequest, name: str) -> HttpResponse:
    """Ask whether to sign in for this user, then send the browser to the page on which the upstream asks the same.

    The person who signs in lends their account to the user of the link. So a link that somebody else sent must name
    that user, and cannot be followed in one step: the question's cookie is only set by a click on the question.
    """
    token = request.GET.get("token", "")
    try:
        if "continue" not in request.GET or request.COOKIES.get(ASKED) != _digest(token):
            return _ask(request, name, token)
        sign_in = user_sign_in.begin(name, token, at=timezone.now())
    except SignInFailed as failure:
        return _render_failure(request, failure)
    response = HttpResponseRedirect(sign_in.url, headers=PRIVATE)
    # Only the browser that began can finish: otherwise an attacker could make a victim finish the attacker's sign-in.
    response.set_cookie(
        f"{COOKIE}{sign_in.id}",
        "1",
        max_age=user_sign_in.MAX_AGE,
        path=user_sign_in.CALLBACK_PATH,
        secure=request.is_secure(),
        httponly=True,
        samesite="Lax",
    )
    return response


@require_GET
def callback_page(request: HttpRequest) -> HttpResponse:
    """Finish a sign-in, when the upstream sends the browser back with a code."""
    try:
        sign_in_id = user_sign_in.get_sign_in_id(request.GET.get("state", ""))
        if f"{COOKIE}{sign_in_id}" not in request.COOKIES:
            raise SignInFailed("You started to sign in with another browser.")
        user_sign_in.finish(sign_in_id, request.GET.get("code", ""), at=timezone.now())
    except SignInFailed as failure:
        return _render_failure(request, failure)
    response = _render_page(request, "You are signed in", "Go back to the conversation.", status=200)
    response.delete_cookie(f"{COOKIE}{sign_in_id}", path=user_sign_in.CALLBACK_PATH, samesite="Lax")
    return response


def _ask(request: HttpRequest, name: str, token: str) -> HttpResponse:
    subject = user_sign_in.read_subject(name, token)
    message = (
        f"The assistant can then use your account at {name} for the user {subject}. "
        "Continue only if you asked for this in your own conversation."
    )
    link = f"{request.path}?{urlencode({'token': token, 'continue': '1'})}"
    response = _render_page(request, f"Sign in to {name}", message, status=200, link=link)
    response.set_cookie(
        ASKED,
        _digest(token),
        max_age=user_sign_in.MAX_AGE,
        path=request.path,
        secure=request.is_secure(),
        httponly=True,
        samesite="Strict",
    )
    return response


def _digest(token: str) -> str:
    return sha256(token.encode()).hexdigest()


def _render_failure(request: HttpRequest, failure: SignInFailed) -> HttpResponse:
    message = f"{failure} Go back to the conversation and ask for a new link."
    return _render_page(request, "You are not signed in", message, status=400)


def _render_page(request: HttpRequest, title: str, message: str, *, status: int, link: str = "") -> HttpResponse:
    page = render_to_string("gateway/connect.html", {"title": title, "message": message, "link": link}, request)
    return HttpResponse(page, status=status, headers=PRIVATE)
