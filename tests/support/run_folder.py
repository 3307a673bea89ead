"""A folder that all test workers of one run share, for what one of them makes for all."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


def get_run_folder(factory: pytest.TempPathFactory, worker: str) -> Path:
    """Return the folder. Each worker of pytest-xdist has its own base folder in it."""
    base = factory.getbasetemp()
    return base.parent if worker.startswith("gw") else base


@contextmanager
def lock_folder(folder: Path, name: str) -> Iterator[None]:
    """Keep other workers from doing the same thing at the same time."""
    with (folder / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
