"""The probe's settings plus points at which processes die."""

from tests.support.servers import probe_settings

globals().update({name: getattr(probe_settings, name) for name in dir(probe_settings) if name.isupper()})

INSTALLED_APPS = [*probe_settings.INSTALLED_APPS, "tests.support.servers.fault_points.FaultPointsConfig"]
