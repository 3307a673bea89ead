"""Locks by name, for what no row can be locked for."""

from django.db import connection


def lock_name(name: str) -> None:
    """Wait until no other transaction holds the name, and hold it until this one ends.

    On SQLite the transaction itself does that: it begins with the only lock there is.
    """
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [name])
