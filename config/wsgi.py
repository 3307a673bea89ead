"""The WSGI application, which config/serve.py runs."""

import threading

from django.core.cache import close_caches
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections, reset_queries

from config import celery, env
from core import logs
from core.background import poller

# prometheus_client reads this when it is first imported, which happens below.
env.make_metrics_folder()

threading.excepthook = logs.log_thread_failure
application = get_wsgi_application()

from gateway.jobs import job_loop  # noqa: E402 - it has models, which need the line above

# Django calls these around each request, which takes a twentieth of a cached help call. Nobody logs queries, the end of
# a request looks at the connections of its thread as well, and our caches have nothing to close.
request_started.disconnect(reset_queries)
request_started.disconnect(close_old_connections)
request_finished.disconnect(close_caches)

poller.start()
celery.start_embedded_worker()
job_loop.start_locally()
