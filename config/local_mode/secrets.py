"""Secrets of local mode, generated in var/."""

import base64
import fcntl
import json
import os
import secrets
from collections.abc import Callable
from pathlib import Path

_GENERATORS: dict[str, Callable[[], str]] = {
    "SECRET_KEY": lambda: secrets.token_urlsafe(50),
    "GATEWAY_KEY_PEPPER": lambda: secrets.token_urlsafe(32),
    "GATEWAY_ENCRYPTION_KEYS": lambda: base64.urlsafe_b64encode(secrets.token_bytes(32)).decode(),  # one Fernet key
}


def load_local_secrets(var: Path) -> dict[str, str]:
    """Return this checkout's secrets, generated on first use in var/secrets.json (mode 600).

    A file of an older version gets the secrets that it lacks. Several processes may start at the same time: a lock
    makes them all read what the first one generated.
    """
    path = var / "secrets.json"
    stored = _read_file(path)
    if stored.keys() >= _GENERATORS.keys():
        return stored
    var.mkdir(mode=0o700, parents=True, exist_ok=True)
    with os.fdopen(os.open(var / "secrets.lock", os.O_WRONLY | os.O_CREAT, 0o600), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        stored = _read_file(path)
        if not stored.keys() >= _GENERATORS.keys():
            stored = {name: generate() for name, generate in _GENERATORS.items()} | stored
            _write_file(path, stored)
    return stored


def _read_file(path: Path) -> dict[str, str]:
    try:
        stored: dict[str, str] = json.loads(path.read_text())
    except FileNotFoundError:
        return {}
    return stored


def _write_file(path: Path, stored: dict[str, str]) -> None:
    """Replace the file in one step, so that nobody reads half of it."""
    temporary = path.with_suffix(".new")
    with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        json.dump(stored, file)
    temporary.replace(path)
