from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path

from gateway.api.health import AliveView, ReadyView
from gateway.api.metrics import MetricsView
from gateway.api.ofrep import EvaluateAllFlagsView, EvaluateFlagView
from gateway.api.views import DocsView, SchemaView

urlpatterns: list[URLPattern | URLResolver] = [
    path("api/v1/", include("gateway.api.urls")),
    path("ofrep/v1/evaluate/flags", EvaluateAllFlagsView.as_view(), name="flags"),
    path("ofrep/v1/evaluate/flags/<str:key>", EvaluateFlagView.as_view(), name="flag"),
    path("api/schema", SchemaView.as_view(), name="schema"),
    path("api/docs", DocsView.as_view(), name="docs"),
    path("admin/", admin.site.urls),
    path("healthz", AliveView.as_view(), name="healthz"),
    path("readyz", ReadyView.as_view(), name="readyz"),
    path("metrics", MetricsView.as_view(), name="metrics"),
]

handler400 = "gateway.api.views.bad_request"
handler403 = "gateway.api.views.forbidden"
handler404 = "gateway.api.views.not_found"
handler500 = "gateway.api.views.server_error"
