"""What local mode makes for itself: secrets that live in var/ and nowhere else."""

import json
import os
import secrets
from pathlib import Path


def local_secrets(var: Path) -> dict[str, str]:
    """Return this checkout's own secrets, made at first use in var/secrets.json (mode 600).

    Several processes may start at once: the file is written aside and linked into place, so that all of them read
    the one that won.
    """
    path = var / "secrets.json"
    if not path.exists():
        var.mkdir(mode=0o700, parents=True, exist_ok=True)
        made = {"SECRET_KEY": secrets.token_urlsafe(50), "GATEWAY_KEY_PEPPER": secrets.token_urlsafe(32)}
        aside = var / f"secrets.{os.getpid()}.json"
        with os.fdopen(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            json.dump(made, file)
        try:
            os.link(aside, path)
        except FileExistsError:
            pass  # another process was first; its secrets stand
        finally:
            aside.unlink()
    loaded: dict[str, str] = json.loads(path.read_text())
    return loaded
