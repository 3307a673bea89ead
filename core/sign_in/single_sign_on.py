"""Single sign-on by OpenID Connect (django-allauth; docs/adr/0030).

An administrator adds people. The first sign-in finds a person by the e-mail address that the provider has verified.
Later ones use the provider's id of the person, which never changes.
"""

import logging
from typing import Any

from allauth.account.internal.flows.login import record_authentication
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialAccount, SocialLogin
from allauth.socialaccount.providers.base import AuthError
from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView
from allauth.socialaccount.providers.openid_connect import views
from django.conf import settings
from django.contrib import auth
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import resolve_url
from django.template.response import TemplateResponse

from core.sign_in.openid_connect import InvalidAnswer, VerifyingAdapter, VerifyingProvider
from core.sign_in.second_factor import SINGLE_SIGN_ON

log = logging.getLogger(__name__)

PROVIDER = "oidc"  # in the settings; there is one provider
BACKEND = "django.contrib.auth.backends.ModelBackend"


class SocialAccountAdapter(DefaultSocialAccountAdapter):  # type: ignore[misc]  # allauth has no type hints
    """Signs in the people that an administrator added, and nobody else."""

    def get_provider(self, request: HttpRequest, provider: str, client_id: str | None = None) -> VerifyingProvider:
        """Return the provider, whose claims are verified."""
        return VerifyingProvider(request, app=self.get_app(request, provider=provider, client_id=client_id))

    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        """Sign in the person that the provider names. Raises ImmediateHttpResponse, always."""
        raise ImmediateHttpResponse(_sign_in(request, sociallogin))

    def on_authentication_error(
        self, request: HttpRequest, provider: Any, error: Any = None, exception: Any = None, extra_context: Any = None
    ) -> None:
        """Show that sign-in failed. Raises ImmediateHttpResponse. The reason is in the log: it may hold a token."""
        if error == AuthError.CANCELLED:
            raise ImmediateHttpResponse(_refuse(request, "Sign-in was cancelled. Nothing was changed."))
        reason = str(exception) if isinstance(exception, InvalidAnswer) else type(exception).__name__
        log.warning("sign_in.single_sign_on_failed error=%s reason=%s", error, reason)
        raise ImmediateHttpResponse(_refuse(request, "The provider's answer could not be used. Try again."))


def begin(request: HttpRequest, provider_id: str) -> HttpResponse:
    """Send the browser to the provider; `next` is where to go after sign-in."""
    try:
        response: HttpResponse = views.login(request, provider_id)
    except (OSError, KeyError) as error:  # it is down, or its metadata is incomplete
        log.warning("sign_in.single_sign_on_failed error=discovery reason=%s", type(error).__name__)
        return _refuse(
            request, "The provider does not answer. Try again later, or sign in with a password.", status=502
        )
    return response


def finish(request: HttpRequest, provider_id: str) -> HttpResponse:
    """Process the provider's answer."""
    try:
        response: HttpResponse = OAuth2CallbackView.adapter_view(VerifyingAdapter(request, provider_id))(request)
    except (OSError, KeyError) as error:
        log.warning("sign_in.single_sign_on_failed error=token reason=%s", type(error).__name__)
        return _refuse(
            request, "The provider does not answer. Try again later, or sign in with a password.", status=502
        )
    return response


def _sign_in(request: HttpRequest, sociallogin: SocialLogin) -> HttpResponse:
    address = sociallogin.user.email
    user = sociallogin.user if sociallogin.is_existing else _find_user(sociallogin)
    if user is None:
        log.warning("sign_in.single_sign_on_refused reason=unknown")
        return _refuse(
            request,
            f"No user here has the verified e-mail address {address}." if address else "The provider sent no address.",
            "Ask an Admin to add you under Users, with the address that the provider has.",
        )
    if not user.is_active:
        log.warning("sign_in.single_sign_on_refused reason=inactive user=%s", user.get_username())
        return _refuse(request, "Your account here is switched off. Ask an Admin.")
    if not sociallogin.is_existing:
        if SocialAccount.objects.filter(user=user).exists():
            log.warning("sign_in.single_sign_on_refused reason=other_identity user=%s", user.get_username())
            return _refuse(
                request,
                "Your account here is linked to another identity at the provider.",
                "If that one was replaced, ask an Admin to unlink it under Users.",
            )
        sociallogin.connect(request, user)
    if request.user.is_authenticated and request.user != user:
        auth.logout(request)
    record_authentication(request, user, SINGLE_SIGN_ON, provider=PROVIDER)
    auth.login(request, user, backend=BACKEND)
    return HttpResponseRedirect(sociallogin.get_redirect_url(request) or resolve_url(settings.LOGIN_REDIRECT_URL))


def _find_user(sociallogin: SocialLogin) -> User | None:
    """Return the only user with an address that the provider has verified."""
    verified = [each.email for each in sociallogin.email_addresses if each.verified and each.email]
    users = list(User.objects.filter(email__iexact=verified[0])[:2]) if verified else []
    return users[0] if len(users) == 1 else None


def _refuse(request: HttpRequest, *sentences: str, status: int = 403) -> HttpResponse:
    context = {"title": "You are not signed in", "sentences": sentences}
    return TemplateResponse(request, "account/single_sign_on_refused.html", context, status=status).render()
