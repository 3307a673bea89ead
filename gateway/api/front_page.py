"""The address of the site itself: people are sent to the desk, and clients read that there is no endpoint."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.csrf import csrf_exempt

from core.admin.page_parts import is_browser


@csrf_exempt  # it changes nothing, and clients that send something read the same error
def front_page(request: HttpRequest) -> HttpResponse:
    """Redirect a browser to the admin. Raises Http404 for other clients."""
    if request.method in ("GET", "HEAD") and is_browser(request):
        return redirect("admin:index")
    raise Http404
