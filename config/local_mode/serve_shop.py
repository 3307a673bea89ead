"""Start the example shop: python -m config.local_mode.serve_shop PORT. `manage.py start` does so."""

import os
import signal
import sys

from config.local_mode import lifeline
from config.local_mode.dev_env import SHOP_TOKEN_VARIABLE
from demo.shop import service


def main() -> None:
    """Serve the shop on this machine until SIGTERM."""
    lifeline.end_with_parent()
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the gateway ends first, and this server with it
    service.build_server("127.0.0.1", int(sys.argv[1]), token=os.environ[SHOP_TOKEN_VARIABLE]).serve_forever()


if __name__ == "__main__":
    main()
