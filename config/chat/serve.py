"""Start the chat's server: python -m config.chat.serve [arguments of granian], such as --host 0.0.0.0 --port 8001."""

import os
import sys

from config.local_mode import lifeline
from config.serve import build_arguments, run_server


def main() -> None:
    """Serve the chat, with one worker unless the arguments say more: its turns wait most of the time."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "config.chat.settings"
    lifeline.end_with_parent()
    run_server(
        lambda: build_arguments("config.asgi:application", workers=1, interface="asginl"),
        modules=("config.chat.urls",),
    )


if __name__ == "__main__":
    main()
    sys.exit()
