"""The gateway as a WSGI application: python -m granian --interface wsgi config.wsgi:application."""

import os

from django.core.wsgi import get_wsgi_application

from core import follower

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

application = get_wsgi_application()
follower.start()
