"""Sign-ins and sign-outs in the audit log. Wrong passwords are under Failed sign-ins, which their limits count."""

from typing import Any

from allauth.mfa.models import Authenticator
from django.contrib.auth.models import User
from django.http import HttpRequest
from django.utils import timezone

from analytics import audit
from analytics.models import AuditEntry
from core.server.environ import read_client_address
from core.sign_in.second_factor import used_single_sign_on


def record_sign_in(*, request: HttpRequest | None, user: User, **_: Any) -> None:
    """Receiver of Django's user_logged_in."""
    _record(AuditEntry.Action.SIGNED_IN, request, user)


def record_sign_out(*, request: HttpRequest | None, user: User | None, **_: Any) -> None:
    """Receiver of Django's user_logged_out. There is no user if the session had ended before."""
    if user is not None:
        _record(AuditEntry.Action.SIGNED_OUT, request, user)


def _record(action: AuditEntry.Action, request: HttpRequest | None, user: User) -> None:
    if request is None or request.method is None:
        return  # a script made the session: nobody sent a password
    name = user.get_username()
    address = read_client_address(request.META)
    way = "by single sign-on" if hasattr(request, "session") and used_single_sign_on(request.session) else ""
    note = " ".join(filter(None, [way, f"from {address}" if address else ""]))
    audit.record_action(AuditEntry.Kind.SIGN_IN, name, action, by=name, at=timezone.now(), note=note)


def record_added_factor(user: User, authenticator: Authenticator, **_: Any) -> None:
    """Receiver of allauth's authenticator_added."""
    _record_factor(user, f"Added a second factor: {authenticator.get_type_display()}")


def record_removed_factor(user: User, authenticator: Authenticator, **_: Any) -> None:
    """Receiver of allauth's authenticator_removed."""
    _record_factor(user, f"Removed a second factor: {authenticator.get_type_display()}")


def _record_factor(user: User, note: str) -> None:
    kind, action, name = AuditEntry.Kind.USER, AuditEntry.Action.CHANGED, user.get_username()
    audit.record_action(kind, name, action, by=name, at=timezone.now(), note=note)
