#!/usr/bin/env python
"""Run Django's and the project's management commands: python manage.py help."""

import os
import signal
import sys


def main() -> None:
    """Run the command given on the command line. Ctrl-C and invalid settings exit without a traceback."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    try:
        from django.core.management import execute_from_command_line

        from config.env import exit_on_invalid_setting

        with exit_on_invalid_setting():
            execute_from_command_line(sys.argv)
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)


if __name__ == "__main__":
    main()
