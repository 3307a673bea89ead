"""The server, with granian's arguments: python -m config.serve --interface wsgi config.wsgi:application."""

import os
import signal


def main() -> None:
    """Run granian so that a signal ends it, and each of its workers, whenever it comes."""
    # Python's own handler would print a traceback until granian has set one. manage.py start holds the signal back.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    os.register_at_fork(after_in_child=_be_told_once)
    from granian.cli import entrypoint

    entrypoint()  # type: ignore[no-untyped-call]  # the package types it not


def _be_told_once() -> None:
    """Have a worker end on the server's SIGTERM, and on nothing else.

    It inherits the server's handler, which only notes a signal for the server's loop: told to stop before it has loaded
    the application and set its own, a worker would go on until it is killed. And Ctrl-C reaches the workers as well as
    the server, which then tells them again: told twice at once, a worker of granian 2.8 may hang.
    """
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})


if __name__ == "__main__":
    main()
