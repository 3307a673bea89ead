"""Encrypt stored values again after a new first key was set."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from allauth.mfa.models import Authenticator
from django.db.models import Model

from core import encryption
from core.encryption import DecryptionFailed
from core.sign_in.adapters import reencrypt_authenticator
from gateway.credentials.connection_secrets import REFERENCE
from gateway.models import ConnectionSecret, SignIn, UserGrant, UserKey

# Every encrypted column.
ENCRYPTED_COLUMNS: tuple[tuple[type[Model], str], ...] = (
    (ConnectionSecret, "value"),
    (UserGrant, "access_token"),
    (UserGrant, "refresh_token"),
    (SignIn, "verifier"),
    (UserKey, "username"),
    (UserKey, "secret"),
)

CHUNK_SIZE = 500  # rows


class RotationCounts(NamedTuple):
    """How many values were encrypted again, and how many no key can decrypt."""

    done: int
    failed: int


def reencrypt_all() -> RotationCounts:
    """Encrypt every stored value with the first key. Safe to run twice, and while calls are served."""
    results = [_reencrypt_value(*value) for value in _iterate_values()]
    with_secrets = Authenticator.objects.exclude(type=Authenticator.Type.WEBAUTHN).order_by("pk")
    results += [reencrypt_authenticator(each) for each in with_secrets.iterator(CHUNK_SIZE)]
    return RotationCounts(done=results.count(True), failed=results.count(False))


def _iterate_values() -> Iterator[tuple[type[Model], str, Any, str]]:
    for model, column in ENCRYPTED_COLUMNS:
        for pk, value in model._default_manager.order_by("pk").values_list("pk", column).iterator(CHUNK_SIZE):
            if value and not value.startswith(REFERENCE):
                yield model, column, pk, value


def _reencrypt_value(model: type[Model], column: str, pk: Any, value: str) -> bool:
    try:
        renewed = encryption.reencrypt(value)
    except DecryptionFailed:
        return False
    # Only if it is still the same: a call may have renewed the token in the meantime, with the first key.
    model._default_manager.filter(pk=pk, **{column: value}).update(**{column: renewed})
    return True
