"""Pages to give an application access or end it, and endpoints for applications."""

import logging
from typing import Any
from urllib.parse import urlencode, urlsplit

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.mixins import LoginRequiredMixin
from django.contrib.auth.views import LoginView
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse_lazy
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache
from django.views.generic import View
from oauth2_provider.exceptions import FatalClientError, OAuthToolkitError
from oauth2_provider.http import OAuth2ResponseRedirect
from oauth2_provider.models import Application
from oauth2_provider.views import OAuthProtectedResourceMetadataView
from oauth2_provider.views import TokenView as ToolkitTokenView
from oauth2_provider.views.mixins import OAuthLibMixin
from oauthlib.oauth2.rfc6749 import errors

from gateway.access.api_keys import SubjectNotAllowed
from gateway.models import SignedInApplication
from gateway.oauth import client_documents, sign_ins, validator

log = logging.getLogger(__name__)
CSP = (
    "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'; "
    "form-action 'self' {target}"
)


class SignInView(LoginView):
    """The form for all active users. The console's form accepts staff only. The same throttle applies."""

    template_name = "gateway/oauth/sign_in.html"

    def get_default_redirect_url(self) -> str:
        """Return where people go if they opened the form directly."""
        return str(reverse_lazy("oauth2_provider:own-applications"))


@method_decorator(never_cache, name="dispatch")
class AuthorizeView(LoginRequiredMixin, OAuthLibMixin, View):  # type: ignore[misc]  # DOT has no type hints
    """Ask a user whether an application can use the tools (RFC 6749, section 4.1).

    The answer is posted to the same URL, so both requests check the same parameters.
    """

    http_method_names = ["get", "post"]
    login_url = reverse_lazy("oauth2_provider:sign-in")

    def get(self, request: HttpRequest) -> HttpResponse:
        """Show the question."""
        try:
            _, credentials = self._read_request(request)
        except OAuthToolkitError as error:
            return self._refuse(request, error)
        application = Application.objects.get(client_id=credentials["client_id"])
        redirect_uri = credentials["redirect_uri"]
        context = {
            "application": application,
            "origin": _get_origin(application),
            "target": urlsplit(redirect_uri).hostname,
            "is_local": client_documents.is_loopback(urlsplit(redirect_uri)),
        }
        page = render(request, "gateway/oauth/consent.html", context)
        # Browsers also apply form-action to the redirect that follows the form.
        page.headers["Content-Security-Policy"] = CSP.format(target=client_documents.build_form_source(redirect_uri))
        page.headers["Referrer-Policy"] = "same-origin"  # the form's Referer is what CSRF protection checks
        return page

    def post(self, request: HttpRequest) -> HttpResponse:
        """Let the application in, or send it back with access_denied."""
        is_allowed = request.POST.get("decision") == "allow"
        user: Any = request.user  # signed in, which the type does not say
        try:
            scopes, credentials = self._read_request(request)
            if is_allowed:
                application = Application.objects.get(client_id=credentials["client_id"])
                sign_ins.let_in(application, user, at=timezone.now())
            url, *_ = self.create_authorization_response(request, " ".join(scopes), credentials, is_allowed)
        except SubjectNotAllowed as error:
            return _render_message(request, "You cannot be signed in", f"{error} Ask an administrator.", status=403)
        except OAuthToolkitError as error:
            return self._refuse(request, error)
        return _redirect(url)

    def _read_request(self, request: HttpRequest) -> tuple[list[str], dict[str, Any]]:
        """Return the scopes and the parameters of a valid request. Raises OAuthToolkitError."""
        scopes, credentials = self.validate_authorization_request(request)
        credentials.pop("request", None)
        problem: errors.OAuth2Error | None = None
        if credentials.get("code_challenge_method") != "S256":
            problem = errors.InvalidRequestError("Send code_challenge_method=S256.", state=credentials.get("state"))
        elif not validator.accepts_resources(request.GET.getlist("resource")):
            description = f"The only resource is {validator.get_identifier()}."
            problem = errors.CustomOAuth2Error("invalid_target", description, state=credentials.get("state"))
        if problem is not None:
            raise OAuthToolkitError(problem, redirect_uri=credentials["redirect_uri"])
        return scopes, credentials

    def _refuse(self, request: HttpRequest, error: OAuthToolkitError) -> HttpResponse:
        """Send the browser back to the application with the error. If it cannot be trusted, show a page."""
        is_redirect, details = self.error_response(error)
        if isinstance(error, FatalClientError) or not is_redirect or not error.oauthlib_error.redirect_uri:
            message = (
                "The gateway does not know the application or its address. Start again in the application. "
                "If that does not help, ask an administrator."
            )
            return _render_message(request, "This application cannot sign in", message, status=400)
        return _redirect(f"{details['url']}&{urlencode({'iss': settings.GATEWAY_URL})}")  # RFC 9207


class TokenView(ToolkitTokenView):  # type: ignore[misc]  # DOT has no type hints
    """Issue tokens for a code or a refresh token. There is no device flow."""

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Answer as RFC 6749 says. Every other grant is an unsupported_grant_type."""
        response: HttpResponse = self.authorization_flow_token_response(request, *args, **kwargs)
        response.headers["Content-Type"] = "application/json"  # DOT leaves it out for errors of resources
        response.headers["Cache-Control"] = "no-store"
        return response


class ResourceMetadataView(OAuthProtectedResourceMetadataView):  # type: ignore[misc]  # DOT has no type hints
    """Say where to sign in for /mcp (RFC 9728)."""

    def get_resource(self, request: HttpRequest) -> str:
        """Return the audience of tokens."""
        return validator.get_identifier()

    def get_authorization_servers(self, request: HttpRequest) -> list[str]:
        """Return this gateway, the only one."""
        return [settings.GATEWAY_URL]

    def get_resource_name(self) -> str:
        """Return the name that clients can show."""
        return "Tool Gateway"


def _get_origin(application: Application) -> str:
    """Return the host whose document describes the application; empty if an administrator registered it."""
    if application.registration_source != Application.RegistrationSource.CIMD:
        return ""
    return urlsplit(application.client_id).hostname or ""


def _redirect(url: str) -> HttpResponse:
    response: HttpResponse = OAuth2ResponseRedirect(url, ["http", "https"])
    response.headers["Referrer-Policy"] = "no-referrer"
    return response


def _render_message(request: HttpRequest, title: str, message: str, *, status: int) -> HttpResponse:
    return render(request, "gateway/oauth/message.html", {"title": title, "message": message}, status=status)


@method_decorator(never_cache, name="dispatch")
class OwnApplicationsView(LoginRequiredMixin, View):
    """Lists the applications of the signed-in user. A POST with `id` ends the access of one of them."""

    http_method_names = ["get", "post"]
    login_url = reverse_lazy("oauth2_provider:sign-in")

    def get(self, request: HttpRequest) -> HttpResponse:
        """Show the list."""
        links = self._find(request).filter(key__revoked_at=None).order_by("application__name")
        return render(
            request, "gateway/oauth/own_applications.html", {"links": links, "gateway_url": settings.GATEWAY_URL}
        )

    def post(self, request: HttpRequest) -> HttpResponse:
        """End the access. An application without access is not an error: another tab may have ended it."""
        id = request.POST.get("id", "")
        link = self._find(request).filter(pk=id).first() if id.isdecimal() and len(id) < 19 else None
        if link is not None:
            sign_ins.end_access(link, by=request.user.get_username(), at=timezone.now())
            messages.success(request, f"{link.application} no longer has access.")
        return redirect("oauth2_provider:own-applications")

    def _find(self, request: HttpRequest) -> QuerySet[SignedInApplication]:
        user: Any = request.user  # signed in, which the type does not say
        return SignedInApplication.objects.select_related("application", "key").filter(user=user)
