"""The probe's settings plus password hashing that waits for the test."""

from tests.support.servers import probe_settings

globals().update({name: getattr(probe_settings, name) for name in dir(probe_settings) if name.isupper()})

INSTALLED_APPS = [*probe_settings.INSTALLED_APPS, "tests.support.servers.held_hashing.HeldHashingConfig"]
