"""The RSGI application, which config/serve.py runs: Django behind pools of threads (docs/adr/0019)."""

from django.conf import settings

from config.wsgi import application as django_application
from core.server.application import Application, Route
from core.server.environ import Environ, read_limited_address
from core.server.thread_pool import ThreadPool, leave_connections_to_pools
from core.server.uploads import UploadLimit
from gateway.api.files import UPLOAD_PATH, get_max_upload_bytes

MOST_PER_ADDRESS = 64  # limit of waiting and running requests without a key per address in a worker
MOST_FORM_BYTES = 20_000_000  # files that an admin uploads


def _build_route(name: str, threads: int, most_body_bytes: int, most_per_address: int | None = None) -> Route:
    return Route(ThreadPool(name, max(threads, 1), most_per_address=most_per_address), most_body_bytes)


# Slow pages, a silent database and password guessing delay only requests of the same kind.
_half = settings.GATEWAY_THREADS // 2
_liveness = _build_route("liveness", 1, 0, MOST_PER_ADDRESS)
_probes = _build_route("probes", 1, 0, MOST_PER_ADDRESS)
_pages = _build_route("pages", _half, MOST_FORM_BYTES, MOST_PER_ADDRESS)
_help = _build_route("help", _half, settings.GATEWAY_BODY_MAX_BYTES)
_calls = _build_route("calls", settings.GATEWAY_THREADS, settings.GATEWAY_BODY_MAX_BYTES)
# Each thread holds one file in memory while it stores it.
_uploads = Route(ThreadPool("uploads", 2), get_max_upload_bytes(), UploadLimit(most=16, most_per_address=8))
# API calls without a key. Their bodies are read, so that a client can sign in and go on over the same connection.
_refused = Route(_pages.pool, settings.GATEWAY_BODY_MAX_BYTES)

_ROUTES_BY_PATH = {
    "/healthz": _liveness,
    "/readyz": _probes,
    "/metrics": _probes,
}


def _choose_route(environ: Environ) -> Route:
    path = environ["PATH_INFO"]
    if not path.startswith(settings.API_PREFIXES):
        return _ROUTES_BY_PATH.get(path, _pages)
    if "HTTP_AUTHORIZATION" not in environ:
        return _refused
    if path == UPLOAD_PATH and environ["REQUEST_METHOD"] == "POST":
        return _uploads
    return _help if path in ("/api/v1/help", "/api/v1/toolset") else _calls


def _read_address(environ: Environ) -> str:
    return read_limited_address(environ) or ""


leave_connections_to_pools()
application = Application(django_application, _choose_route, _read_address)
