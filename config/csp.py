"""Content Security Policy: pages can load from this host only, other responses cannot load anything."""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase

SELF = "'self'"
HEADER = "Content-Security-Policy"
DENY_ALL = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
SAME_HOST = "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; frame-ancestors 'none'"
CONSOLE = f"{SAME_HOST}; form-action 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'"

# The chat's pages have neither inline scripts nor inline styles, and evaluate nothing.
CHAT = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors"
)
CHAT_PANEL = "/chat/panel/"
CHAT_URLS = "config.chat.urls"

# Answers of the API (config/middleware.py).
FILES_PATH = "/api/v1/files/"
FILES = f"{DENY_ALL}; sandbox"

# By path prefix, the first one that fits. The console and the API's documentation page set inline styles.
POLICIES = {
    "/admin/": CONSOLE,
    "/api/docs": f"{SAME_HOST}; form-action 'none'; style-src 'self' 'unsafe-inline'",
    "/account/": CONSOLE,  # second factor and sessions are pages of the console
    "/oauth/": f"{SAME_HOST}; form-action 'self'",
    "/chat/api/": DENY_ALL,
    "/chat/": f"{CHAT} 'none'",
}


def content_security(
    get_response: Callable[[HttpRequest], HttpResponseBase],
) -> Callable[[HttpRequest], HttpResponseBase]:
    """Add the Content-Security-Policy header to every page, unless its view has set one."""
    panel = f"{CHAT} {' '.join(settings.CHAT_FRAME_ANCESTORS or [SELF])}"
    pages = ((CHAT_PANEL, panel), *POLICIES.items())
    # The chat's process answers unknown addresses with a page that has a style sheet.
    is_chat = settings.ROOT_URLCONF == CHAT_URLS
    others = POLICIES["/chat/"] if is_chat else DENY_ALL

    def middleware(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        path = request.path_info
        policy = next((policy for start, policy in pages if path.startswith(start)), others)
        response.headers.setdefault(HEADER, policy)
        return response

    return middleware
