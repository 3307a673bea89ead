"""The ASGI application of the chat, which config/serve_chat.py runs."""

import os
import threading

os.environ["DJANGO_SETTINGS_MODULE"] = "config.chat_settings"

from django.core.asgi import get_asgi_application

from core import safe_traceback

threading.excepthook = safe_traceback.log_thread_failure
application = get_asgi_application()
