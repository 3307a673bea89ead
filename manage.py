#!/usr/bin/env python
"""Runs Django's and the project's commands: python manage.py help."""

import os
import signal
import sys


def main() -> None:
    """Run the command that the arguments name. Ctrl-C ends it without a traceback, whatever it is doing."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    try:
        from django.core.management import execute_from_command_line

        execute_from_command_line(sys.argv)
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)


if __name__ == "__main__":
    main()
