"""The gateway's settings with one more embedded upstream: the benchmark ops."""

from config.settings import *  # noqa: F403 - all settings, including future ones
from config.settings import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "benchmarks"]  # for its ops and its management commands; it has no models
