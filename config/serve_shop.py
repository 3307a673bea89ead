"""Start the example shop: python -m config.serve_shop PORT. `manage.py start` does so, for the first remote ops."""

import os
import signal
import sys

from config import lifeline
from demo.shop import service

TOKEN_VARIABLE = "UPSTREAM_SHOP_TOKEN"  # noqa: S105 - its name; the gateway reads it, too


def main() -> None:
    """Serve the shop on this machine until SIGTERM."""
    lifeline.follow()
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the gateway ends first, and this server with it
    service.build_server("127.0.0.1", int(sys.argv[1]), token=os.environ[TOKEN_VARIABLE]).serve_forever()


if __name__ == "__main__":
    main()
