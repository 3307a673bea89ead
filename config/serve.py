"""Start the server: python -m config.serve [arguments of granian], such as --host 0.0.0.0 --port 8000."""

import os
import signal
import sys

from django.conf import settings

from config import env


def main() -> None:
    """Run granian so that a signal stops it and its workers at any time, even during startup."""
    # Until granian sets its handler, Python's would print a traceback. manage.py start blocks the signal.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    # Here and not only in the workers, which the server would start again and again.
    with env.exit_on_invalid_setting():
        env.make_metrics_folder()
        env.load_settings()
    os.register_at_fork(after_in_child=_stop_on_sigterm_only)
    from granian.cli import entrypoint

    sys.argv[1:1] = build_arguments("config.rsgi:application", workers=settings.GATEWAY_WORKERS)
    entrypoint()  # type: ignore[no-untyped-call]  # the package has no type hint for it


def build_arguments(application: str, *, workers: int) -> list[str]:
    """Return the arguments with which granian serves this project. Those that follow them count instead."""
    return [
        *("--interface", "rsgi", "--http", "1", "--no-ws", "--log-level", "warning"),
        *("--workers", str(workers), "--respawn-failed-workers", "--workers-kill-timeout", "25"),
        application,
    ]


def _stop_on_sigterm_only() -> None:
    """Make a worker stop on the server's SIGTERM only.

    A worker inherits the server's handler, which only records the signal for the server's loop. A worker that gets
    SIGTERM before it has loaded the application and set its own handler would run on until it is killed. Ctrl-C reaches
    the workers as well as the server, which then sends SIGTERM; a granian 2.8 worker may hang if it gets both at once.
    """
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})


if __name__ == "__main__":
    main()
