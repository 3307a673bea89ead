"""The gateway as a WSGI application: config/serve.py runs it."""

import os
import threading
from pathlib import Path

from django.core.wsgi import get_wsgi_application

from config import celery
from core import faults, follower

# Read when prometheus_client is first imported, which is below.
METRICS = Path(os.environ.setdefault("PROMETHEUS_MULTIPROC_DIR", str(Path(__file__).parents[1] / "var" / "metrics")))
METRICS.mkdir(mode=0o700, parents=True, exist_ok=True)

threading.excepthook = faults.log_thread
application = get_wsgi_application()
follower.start()
celery.start_embedded()
