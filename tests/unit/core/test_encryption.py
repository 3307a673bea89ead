"""Encryption of stored secrets: the first key encrypts, every key decrypts."""

from typing import Any

import pytest
from cryptography.fernet import Fernet

from core import encryption
from core.encryption import DecryptionFailed, EncryptionNotConfigured

OLD, NEW = Fernet.generate_key().decode(), Fernet.generate_key().decode()


def test_a_secret_is_stored_encrypted_and_differently_each_time(settings: Any) -> None:
    settings.GATEWAY_ENCRYPTION_KEYS = [NEW]

    first, second = encryption.encrypt("sécret"), encryption.encrypt("sécret")

    assert first != second
    assert "sécret" not in first
    assert encryption.decrypt(first) == encryption.decrypt(second) == "sécret"


def test_keys_are_replaced_in_three_steps(settings: Any) -> None:
    settings.GATEWAY_ENCRYPTION_KEYS = [OLD]
    stored = encryption.encrypt("secret")
    settings.GATEWAY_ENCRYPTION_KEYS = [NEW, OLD]
    renewed = encryption.reencrypt(stored)
    assert encryption.decrypt(stored) == "secret"

    settings.GATEWAY_ENCRYPTION_KEYS = [NEW]

    assert encryption.decrypt(renewed) == "secret"
    for failing in (encryption.decrypt, encryption.reencrypt):
        with pytest.raises(DecryptionFailed):
            failing(stored)


def test_without_a_key_nothing_is_encrypted_and_the_error_says_what_to_set(settings: Any) -> None:
    settings.GATEWAY_ENCRYPTION_KEYS = []

    with pytest.raises(EncryptionNotConfigured, match="Set it to a key made with"):
        encryption.encrypt("secret")
    with pytest.raises(DecryptionFailed):
        encryption.decrypt("secret")
