"""An app that only the hashing settings load: each password hash waits for the file "go" in HASHING_FOLDER."""

import os
from itertools import count
from pathlib import Path
from typing import Any

from django.apps import AppConfig


class HeldHashingConfig(AppConfig):
    """Makes the hash function create a file, and wait."""

    name = "tests.support.servers.held_hashing"

    def ready(self) -> None:
        """Wrap the hash function that Django calls."""
        from argon2 import low_level

        from tests.support.servers.probe import wait_for_file

        hash_password, numbers = low_level.hash_secret, count(1)

        def hash_when_told(*args: Any, **options: Any) -> bytes:
            folder = Path(os.environ["HASHING_FOLDER"])
            (folder / f"{os.getpid()}-{next(numbers)}").touch()
            wait_for_file(folder)
            return hash_password(*args, **options)

        low_level.hash_secret = hash_when_told
