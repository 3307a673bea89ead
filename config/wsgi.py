"""The WSGI application, which config/serve.py runs."""

import threading

from django.core.wsgi import get_wsgi_application

from config import celery, env
from core import logs
from core.background import poller

# prometheus_client reads this when it is first imported, which happens below.
env.make_metrics_folder()

threading.excepthook = logs.log_thread_failure
application = get_wsgi_application()

from gateway.jobs import job_loop  # noqa: E402 - it has models, which need the line above

poller.start()
celery.start_embedded_worker()
job_loop.start_locally()
