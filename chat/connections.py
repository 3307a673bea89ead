"""Database connections: a turn and its streams hold none while the model thinks."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from django.db import connection

P = ParamSpec("P")
R = TypeVar("R")


def give_back_connection() -> None:
    """Return this thread's connection to the pool. A file of SQLite has no pool: its connections stay open."""
    if connection.vendor != "sqlite":
        close_connection()


def close_connection() -> None:
    """Close this thread's connection, which ends with its thread. In tests, a transaction may be open."""
    if not connection.in_atomic_block:
        connection.close()


def gives_connection_back(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function that uses the database, so that the thread holds no connection after it."""

    @wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        finally:
            give_back_connection()

    return wrapper
