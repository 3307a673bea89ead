"""The form that takes a code. Wrong codes count like wrong passwords, and lock sign-in with them."""

from allauth.core import context
from allauth.mfa.base.forms import ReauthenticateForm
from axes.handlers.proxy import AxesProxyHandler
from django import forms
from django.contrib.auth.models import User

from core.sign_in.throttle import SignInLocked


class CodeForm(ReauthenticateForm):  # type: ignore[misc]  # allauth has no type hints
    """Checks no code while sign-in is locked."""

    user: User

    def clean_code(self) -> str:
        """Return the code if it is right."""
        request = context.request
        credentials = {"username": self.user.get_username()}
        if not AxesProxyHandler.is_allowed(request, credentials):
            raise _build_locked_error(SignInLocked(max(request.sign_in_lock_ends)))
        try:
            code: str = super().clean_code()
        except SignInLocked as lock:
            raise _build_locked_error(lock) from None
        return code


def _build_locked_error(lock: SignInLocked) -> forms.ValidationError:
    return forms.ValidationError(f"There were too many wrong codes. Try again after {lock.until:%H:%M} UTC.")
