"""The WSGI application, which config/serve.py runs."""

import os
import threading
from pathlib import Path

from django.core.wsgi import get_wsgi_application

from config import celery
from core import poller, safe_traceback

# prometheus_client reads this when it is first imported, which happens below.
METRICS = Path(os.environ.setdefault("PROMETHEUS_MULTIPROC_DIR", str(Path(__file__).parents[1] / "var" / "metrics")))
METRICS.mkdir(mode=0o700, parents=True, exist_ok=True)

threading.excepthook = safe_traceback.log_thread_failure
application = get_wsgi_application()
poller.start()
celery.start_embedded_worker()
