"""The gateway as a WSGI application: python -m granian --interface wsgi config.wsgi:application."""

import os
from pathlib import Path

from django.core.wsgi import get_wsgi_application

from core import follower

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

# Read when prometheus_client is first imported, which is below.
METRICS = Path(os.environ.setdefault("PROMETHEUS_MULTIPROC_DIR", str(Path(__file__).parents[1] / "var" / "metrics")))
METRICS.mkdir(mode=0o700, parents=True, exist_ok=True)

application = get_wsgi_application()
follower.start()
