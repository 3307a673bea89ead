"""What django-allauth asks of this project: addresses, reauthentication, names, forms and encryption."""

import base64
from functools import lru_cache
from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.core import context
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.base.forms import ReauthenticateForm
from allauth.mfa.models import Authenticator
from axes.handlers.proxy import AxesProxyHandler
from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django import forms
from django.conf import settings
from django.contrib.auth.models import User
from django.http import HttpRequest

from core.server.environ import read_client_address
from core.sign_in.second_factor import is_pending
from core.sign_in.throttle import SignInLocked

NO_ADDRESS = "0.0.0.0"  # noqa: S104 - of a server that listens on a socket without addresses


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]  # allauth has no type hints
    """Nobody signs up: administrators add people."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """Return whether people can add themselves."""
        return False

    def get_client_ip(self, request: HttpRequest) -> str:
        """Return the address that the list of sessions shows."""
        return str(read_client_address(request.META) or NO_ADDRESS)

    def get_reauthentication_methods(self, user: Any) -> list[dict[str, Any]]:
        """Return the ways to confirm one's identity. They exclude the password where the second factor is required."""
        methods: list[dict[str, Any]] = super().get_reauthentication_methods(user)
        if not is_pending(self.request.session):
            return methods
        return [each for each in methods if each["id"] != "reauthenticate"]


class MFAAdapter(DefaultMFAAdapter):  # type: ignore[misc]  # allauth has no type hints
    """Secrets are encrypted with GATEWAY_ENCRYPTION_KEYS, without them with a key from SECRET_KEY."""

    def get_totp_issuer(self) -> str:
        """Return the name that an authenticator app shows."""
        return f"Tool Gateway ({self._get_site_name()})"

    def encrypt(self, text: str) -> str:
        """Return a secret as it is stored."""
        return _get_cipher().encrypt(text.encode()).decode()

    def decrypt(self, encrypted_text: str) -> str:
        """Return a secret that was stored."""
        return _get_cipher().decrypt(encrypted_text).decode()


def reencrypt_authenticator(authenticator: Authenticator) -> bool:
    """Encrypt the secret of an authenticator with the first key. Return whether a key could decrypt it."""
    name = "secret" if authenticator.type == Authenticator.Type.TOTP else "seed"
    try:
        authenticator.data[name] = _get_cipher().rotate(authenticator.data[name]).decode()
    except InvalidToken:
        return False
    authenticator.save(update_fields=["data"])
    return True


def _get_cipher() -> MultiFernet:
    return _build_cipher(tuple(settings.GATEWAY_ENCRYPTION_KEYS), settings.SECRET_KEY)


@lru_cache(maxsize=2)
def _build_cipher(keys: tuple[str, ...], secret_key: str) -> MultiFernet:
    derived = HKDF(SHA256(), length=32, salt=None, info=b"second factors").derive(secret_key.encode())
    return MultiFernet([*(Fernet(key) for key in keys), Fernet(base64.urlsafe_b64encode(derived))])


class CodeForm(ReauthenticateForm):  # type: ignore[misc]  # allauth has no type hints
    """Does not check codes while sign-in is locked."""

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
