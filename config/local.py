"""Secrets of local mode, generated in var/."""

import json
import os
import secrets
from pathlib import Path


def load_local_secrets(var: Path) -> dict[str, str]:
    """Return this checkout's secrets, generated on first use in var/secrets.json (mode 600).

    Several processes may start at once, so each writes its own file and links it into place. The first link wins, and
    all processes read that file.
    """
    path = var / "secrets.json"
    if not path.exists():
        var.mkdir(mode=0o700, parents=True, exist_ok=True)
        generated = {"SECRET_KEY": secrets.token_urlsafe(50), "GATEWAY_KEY_PEPPER": secrets.token_urlsafe(32)}
        temporary = var / f"secrets.{os.getpid()}.json"
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            json.dump(generated, file)
        try:
            os.link(temporary, path)
        except FileExistsError:
            pass  # another process was first; use its secrets
        finally:
            temporary.unlink()
    loaded: dict[str, str] = json.loads(path.read_text())
    return loaded
