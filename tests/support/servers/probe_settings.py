"""The project's settings plus the probe, an embedded upstream for tests."""

from config import settings as ours

globals().update({name: getattr(ours, name) for name in dir(ours) if name.isupper()})

INSTALLED_APPS = [*ours.INSTALLED_APPS, "tests.support.servers.probe_app.ProbeConfig"]
