"""Content Security Policy: admin pages may load from this host only, other pages may load nothing."""

from collections.abc import Callable

from django.http import HttpRequest
from django.http.response import HttpResponseBase

HEADER = "Content-Security-Policy"
DENY_ALL = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
SAME_HOST = "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; frame-ancestors 'none'"

# By path prefix. The admin uses Alpine, which evaluates code in attributes (unsafe-eval). The admin and the API's
# documentation page set inline styles.
POLICIES = {
    "/admin/": f"{SAME_HOST}; form-action 'self'; script-src 'self' 'unsafe-eval'; style-src 'self' 'unsafe-inline'",
    "/api/docs": f"{SAME_HOST}; form-action 'none'; style-src 'self' 'unsafe-inline'",
}


def content_security(
    get_response: Callable[[HttpRequest], HttpResponseBase],
) -> Callable[[HttpRequest], HttpResponseBase]:
    """Add the Content-Security-Policy header to every response."""
    pages = tuple(POLICIES.items())

    def middleware(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        path = request.path_info
        response.headers[HEADER] = next((policy for start, policy in pages if path.startswith(start)), DENY_ALL)
        return response

    return middleware
