"""The URLs of a gateway whose setting GATEWAY_OAUTH is on."""

from django.urls import include, path

from config.urls import handler400, handler403, handler404, handler500, urlpatterns

__all__ = ["handler400", "handler403", "handler404", "handler500", "urlpatterns"]

urlpatterns = [*urlpatterns, path("", include("gateway.oauth.urls"))]
