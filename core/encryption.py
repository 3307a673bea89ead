"""Encryption of secrets in the database, with the keys of GATEWAY_ENCRYPTION_KEYS.

The first key encrypts, every key decrypts. To replace a key, put the new one first, run rotate_encryption_keys, and
remove the old one.
"""

from base64 import urlsafe_b64encode
from functools import lru_cache
from hashlib import sha256

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings


class EncryptionNotConfigured(Exception):
    """There is no key to encrypt with. The message says what to set."""

    def __init__(self) -> None:
        super().__init__(
            "Secrets cannot be stored: GATEWAY_ENCRYPTION_KEYS is not set. Set it to a key made with "
            'python -c "from cryptography.fernet import Fernet; print(Fernet.generate_key().decode())".'
        )


class DecryptionFailed(Exception):
    """None of the keys has encrypted the text."""


def encrypt(text: str) -> str:
    """Encrypt a text with the first key. Raises EncryptionNotConfigured."""
    return _get_cipher().encrypt(text.encode()).decode()


def decrypt(encrypted: str) -> str:
    """Return the text that was encrypted. Raises DecryptionFailed, also if there is no key."""
    try:
        return _get_cipher().decrypt(encrypted).decode()
    except (InvalidToken, EncryptionNotConfigured):
        raise DecryptionFailed from None


def reencrypt(encrypted: str) -> str:
    """Return the same text encrypted with the first key. Raises DecryptionFailed and EncryptionNotConfigured."""
    try:
        return _get_cipher().rotate(encrypted).decode()
    except InvalidToken:
        raise DecryptionFailed from None


def seal(text: str, secret: str) -> str:
    """Encrypt a text with a random secret that somebody else keeps, such as a token. It needs no slow derivation."""
    return _build_sealing_cipher(secret).encrypt(text.encode()).decode()


def unseal(sealed: str, secret: str) -> str:
    """Return the text that was sealed with a secret. Raises DecryptionFailed."""
    try:
        return _build_sealing_cipher(secret).decrypt(sealed).decode()
    except InvalidToken:
        raise DecryptionFailed from None


def is_configured() -> bool:
    """Return whether there is a key to encrypt with."""
    return bool(settings.GATEWAY_ENCRYPTION_KEYS)


def _get_cipher() -> MultiFernet:
    if not is_configured():
        raise EncryptionNotConfigured
    return _build_cipher(tuple(settings.GATEWAY_ENCRYPTION_KEYS))


def _build_sealing_cipher(secret: str) -> Fernet:
    # With a prefix, since the plain digest of a token may be stored to find its row.
    return Fernet(urlsafe_b64encode(sha256(f"seal\0{secret}".encode()).digest()))


@lru_cache(maxsize=2)
def _build_cipher(keys: tuple[str, ...]) -> MultiFernet:
    return MultiFernet([Fernet(key) for key in keys])
