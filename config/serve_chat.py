"""Start the chat's server: python -m config.serve_chat [arguments of granian], such as --host 0.0.0.0 --port 8001."""

import os
import signal
import sys
import threading

from config.serve import build_arguments, run_server

# Set by manage.py start: the number of a pipe that the gateway's server holds open as long as it lives.
LIFELINE = "CHAT_LIFELINE"


def main() -> None:
    """Serve the chat, with one worker unless the arguments say more: its turns wait most of the time."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "config.chat_settings"
    if lifeline := os.environ.pop(LIFELINE, ""):
        threading.Thread(target=_stop_at_end_of, args=[int(lifeline)], daemon=True).start()
    run_server(
        lambda: build_arguments("config.asgi:application", workers=1, interface="asginl"),
        modules=("config.chat_urls",),
    )


def _stop_at_end_of(lifeline: int) -> None:
    """Stop this server when the gateway's ends, whatever ended it."""
    os.read(lifeline, 1)
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()
    sys.exit()
