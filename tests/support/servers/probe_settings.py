"""The project's settings and one more embedded upstream, whose handlers let a test look into the server."""

from config import settings as ours

globals().update({name: getattr(ours, name) for name in dir(ours) if name.isupper()})

GATEWAY_EMBEDDED = {**ours.GATEWAY_EMBEDDED, "probe": "tests.support.servers.probe.HANDLERS"}
