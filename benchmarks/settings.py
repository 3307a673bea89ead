"""The gateway as it is shipped, with one more upstream: the ops of benchmarks."""

from config.settings import *  # noqa: F403 - all of it, whatever is added there
from config.settings import GATEWAY_EMBEDDED, INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "benchmarks"]  # for its command alone: it has no models
GATEWAY_EMBEDDED = GATEWAY_EMBEDDED | {"benchmarks": "benchmarks.ops.HANDLERS"}
