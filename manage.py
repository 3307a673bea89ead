#!/usr/bin/env python
"""Run Django's and the project's management commands: python manage.py help."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager


def main() -> None:
    """Run the command given on the command line.

    Ctrl-C, invalid settings and a database that is missing or not migrated exit with a sentence, without a traceback.
    """
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    try:
        from django.core.management import execute_from_command_line

        from config.env import exit_on_invalid_setting

        with exit_on_invalid_setting(), _exit_without_database():
            execute_from_command_line(sys.argv)
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)


@contextmanager
def _exit_without_database() -> Iterator[None]:
    """End the process with a sentence if the database cannot be reached or has not the tables of this version."""
    from django.db import DatabaseError, InterfaceError

    from core.database.watch import NOT_MIGRATED, find_reason, is_schema_missing, is_unavailable

    try:
        yield
    except (DatabaseError, InterfaceError) as error:
        if "--traceback" in sys.argv or not (is_schema_missing(error) or is_unavailable(error)):
            raise
        if is_schema_missing(error):
            sys.exit(f"{NOT_MIGRATED}. It says: {str(error).splitlines()[0]}")
        sys.exit(f"The database cannot be used; see DATABASE_URL. {find_reason() or error}")


if __name__ == "__main__":
    main()
