"""What the gateway offers: the ops that it runs itself."""

from core.handler_contract import EmbeddedUpstream
from core.manifest import Manifest
from gateway import builtin_ops

MANIFEST = Manifest(upstreams=(EmbeddedUpstream("utilities", builtin_ops.HANDLERS),))
