"""The ASGI application of the chat, which config/chat/serve.py runs."""

import os
import sys
import threading
from typing import Any

os.environ["DJANGO_SETTINGS_MODULE"] = "config.chat.settings"

from django.core.asgi import get_asgi_application

from config.chat.api import PREFIX, ChatApiHandler
from core import logs

# How long a thread keeps the interpreter while others wait for it. A new stream needs it a dozen times: with Python's
# 5 ms it begins two to three times as late beside other turns. 0.5 ms costs steady streams 30% more CPU time.
SWITCH_SECONDS = 0.002

sys.setswitchinterval(SWITCH_SECONDS)
threading.excepthook = logs.log_thread_failure
_pages = get_asgi_application()
_api = ChatApiHandler()


async def application(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Serve the API and the pages."""
    handler = _api if scope.get("path", "").startswith(PREFIX) else _pages
    await handler(scope, receive, send)
