"""A pipe that ends a server of `manage.py start` when the gateway's server ends for any reason."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence

LIFELINE = "GATEWAY_LIFELINE"  # the number of the pipe's read end


def start_server(module: str, arguments: Sequence[str], environment: Mapping[str, str]) -> "subprocess.Popen[bytes]":
    """Start a server that ends with this process, and with the server that replaces it."""
    read_end, write_end = os.pipe()
    os.set_inheritable(write_end, True)  # the gateway's server holds it
    process = subprocess.Popen(  # noqa: S603 - our program
        [sys.executable, "-m", module, *arguments],
        pass_fds=[read_end],
        env={**environment, LIFELINE: str(read_end)},
    )
    os.close(read_end)
    return process


def end_with_parent() -> None:
    """Stop this server when the gateway's ends. Does nothing if `manage.py start` did not start it."""
    if lifeline := os.environ.pop(LIFELINE, ""):
        threading.Thread(target=_stop_at_end_of, args=[int(lifeline)], daemon=True).start()


def _stop_at_end_of(lifeline: int) -> None:
    os.read(lifeline, 1)
    os.kill(os.getpid(), signal.SIGTERM)
