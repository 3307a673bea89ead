"""Pages on which end users sign in to an upstream. They need no account here: a signed link says who it is for."""

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.loader import render_to_string
from django.utils import timezone
from django.views.decorators.http import require_GET

from gateway.credentials import user_sign_in
from gateway.credentials.user_sign_in import SignInFailed

PRIVATE = {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer"}
COOKIE = "sign_in_"


@require_GET
def begin_page(request: HttpRequest, name: str) -> HttpResponse:
    """Send the browser to the page on which the upstream asks the end user to sign in."""
    try:
        sign_in = user_sign_in.begin(name, request.GET.get("token", ""), at=timezone.now())
    except SignInFailed as failure:
        return _render_failure(request, failure)
    response = HttpResponseRedirect(sign_in.url, headers=PRIVATE)
    # Only the browser that began can finish: else somebody could have a victim finish a sign-in of their own.
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
            raise SignInFailed("You began to sign in with another browser.")
        user_sign_in.finish(sign_in_id, request.GET.get("code", ""), at=timezone.now())
    except SignInFailed as failure:
        return _render_failure(request, failure)
    response = _render_page(request, "You are signed in", "Go back to the conversation.", status=200)
    response.delete_cookie(f"{COOKIE}{sign_in_id}", path=user_sign_in.CALLBACK_PATH, samesite="Lax")
    return response


def _render_failure(request: HttpRequest, failure: SignInFailed) -> HttpResponse:
    message = f"{failure} Go back to the conversation and ask for a new link."
    return _render_page(request, "You are not signed in", message, status=400)


def _render_page(request: HttpRequest, title: str, message: str, *, status: int) -> HttpResponse:
    page = render_to_string("gateway/connect.html", {"title": title, "message": message}, request)
    return HttpResponse(page, status=status, headers=PRIVATE)
