from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, URLResolver, include, path
from django.views.generic import RedirectView


async def report_alive(_: HttpRequest) -> HttpResponse:
    """Say that the process answers."""
    return HttpResponse("ok", content_type="text/plain")


urlpatterns: list[URLPattern | URLResolver] = [
    path("", RedirectView.as_view(pattern_name="chat_page")),
    path("chat/api/", include("chat.api.urls")),
    path("chat/second-factor/", include("core.sign_in.urls")),
    path("chat/", include("chat.pages.urls")),
    path("healthz", report_alive, name="healthz"),
]

if settings.GATEWAY_SSO_ISSUER:
    urlpatterns.append(path("chat/single-sign-on/", include("core.sign_in.single_sign_on_urls")))

handler404 = "chat.pages.error_pages.not_found"
handler500 = "chat.pages.error_pages.server_error"
