"""What admins do for people who lost a device: end their sessions, remove their second factors."""

from importlib import import_module

import allauth.account.admin
import allauth.mfa.admin
import allauth.usersessions.admin  # noqa: F401 - they register their own pages, before these are taken away below
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.usersessions.models import UserSession
from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db.models import QuerySet
from django.http import HttpRequest
from django.template.defaultfilters import pluralize
from django.utils import timezone

from analytics import audit
from analytics.models import AuditEntry
from core.admin import base
from core.sign_in import second_factor

admin.site.unregister([Authenticator, EmailAddress, UserSession])  # shown with their users
HAS_SINGLE_SIGN_ON = apps.is_installed("allauth.socialaccount")
if HAS_SINGLE_SIGN_ON:
    import_module("allauth.socialaccount.admin")
    admin.site.unregister(list(apps.get_app_config("socialaccount").get_models()))

KINDS = {
    Authenticator.Type.TOTP: "authenticator app",
    Authenticator.Type.WEBAUTHN: "passkey",
    Authenticator.Type.RECOVERY_CODES: "recovery codes",
}


class SignInMixin(base.ModelAdmin[User]):
    """Adds second factors and sessions to the admin of users."""

    actions = ["end_sessions", "remove_second_factors", *(["unlink_identities"] if HAS_SINGLE_SIGN_ON else [])]

    @admin.action(description="Sign out everywhere", permissions=["change"])
    def end_sessions(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        for user in queryset:
            count = second_factor.end_sessions(user, by=request.user.get_username())
            _record(request, user, f"Signed out everywhere: {count} session{pluralize(count)}")
            self.message_user(request, f"{user} is signed out of {count} session{pluralize(count)}.")

    @admin.action(description="Remove second factors: the password alone signs in", permissions=["change"])
    def remove_second_factors(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        for user in queryset:
            count = second_factor.remove_second_factors(user, by=request.user.get_username())
            if count:
                _record(request, user, "Removed the second factors")
            self.message_user(request, f"{user} has no second factor any more." if count else f"{user} had none.")

    @admin.action(description="Unlink from single sign-on: the next sign-in links again", permissions=["change"])
    def unlink_identities(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        for user in queryset:
            count = second_factor.unlink_identities(user, by=request.user.get_username())
            if count:
                _record(request, user, "Unlinked from single sign-on")
            self.message_user(request, f"{user} is not linked any more." if count else f"{user} was not linked.")

    @admin.display(description="Second factors")
    def second_factors(self, user: User) -> str:
        found = Authenticator.objects.filter(user=user).order_by("created_at")
        return ", ".join(KINDS[Authenticator.Type(each.type)] for each in found) or "none"

    @admin.display(description="Sessions")
    def sessions(self, user: User) -> int:
        open_sessions = Session.objects.filter(expire_date__gt=timezone.now()).values("session_key")
        count: int = UserSession.objects.filter(user=user, session_key__in=open_sessions).count()
        return count


def _record(request: HttpRequest, user: User, note: str) -> None:
    kind, action = AuditEntry.Kind.USER, AuditEntry.Action.CHANGED
    audit.record_action(kind, user.username, action, by=str(request.user), at=timezone.now(), note=note)
