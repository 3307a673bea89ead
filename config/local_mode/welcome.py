"""Print a text when servers listen: python -m config.local_mode.welcome PORT..., with the text in GATEWAY_WELCOME.

`manage.py start` starts it just before it becomes the server, which does not know when its workers listen.
"""

import os
import socket
import sys
import time
from collections.abc import Sequence

from config.local_mode import lifeline

TEXT_VARIABLE = "GATEWAY_WELCOME"
WAIT_SECONDS = 60.0
PAUSE_SECONDS = 0.05


def main() -> None:
    """Leave the process that started this one, print the text when all ports answer, and end."""
    if os.fork():
        os._exit(0)  # the starter waits for this one only, so that none stays as a zombie
    lifeline.end_with_parent()
    late = wait_for_ports([int(port) for port in sys.argv[1:]], time.monotonic() + WAIT_SECONDS)
    print(os.environ[TEXT_VARIABLE], flush=True)
    if late:
        ports = ", ".join(map(str, late))
        print(f"Nothing listens on port {ports} after {WAIT_SECONDS:.0f} seconds. The lines above may say why.")


def wait_for_ports(ports: Sequence[int], until: float) -> list[int]:
    """Wait until something listens on each port of this machine. Return the ports where nothing does at that time."""
    left = [port for port in ports if not _is_listening(port)]
    while left and time.monotonic() < until:
        time.sleep(PAUSE_SECONDS)
        left = [port for port in left if not _is_listening(port)]
    return left


def _is_listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


if __name__ == "__main__":
    main()
