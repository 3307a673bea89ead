from django.conf import settings
from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path
from django.views.generic import RedirectView

from gateway.api.end_users import user_page
from gateway.api.health import AliveView, MetricsView, ReadyView
from gateway.api.ofrep import EvaluateAllFlagsView, EvaluateFlagView
from gateway.api.pages import DocsView, SchemaView, begin_page, callback_page, front_page
from gateway.mcp_server.view import McpView

urlpatterns: list[URLPattern | URLResolver] = [
    path("", front_page, name="front"),
    path("api/v1/", include("gateway.api.urls")),
    path("ofrep/v1/evaluate/flags", EvaluateAllFlagsView.as_view(), name="flags"),
    path("ofrep/v1/evaluate/flags/<str:key>", EvaluateFlagView.as_view(), name="flag"),
    path("mcp", McpView.as_view(), name="mcp"),
    path("api/schema", SchemaView.as_view(), name="schema"),
    path("api/docs", DocsView.as_view(), name="docs"),
    path("connect/user/", user_page.show_page, name="user_page"),
    path("connect/user/open", user_page.open_page, name="user_page_open"),
    path("connect/user/keys/<str:name>", user_page.save_key, name="user_key_save"),
    path("connect/user/keys/<str:name>/delete", user_page.delete_key, name="user_key_delete"),
    path("connect/user/sign-ins/<str:name>/delete", user_page.delete_grant, name="user_grant_delete"),
    path("connect/callback", callback_page, name="connect_callback"),
    path("connect/<str:name>", begin_page, name="connect"),
    path("account/", include("console.access.sign_in_urls")),
    path("admin/", include("console.moved_pages")),
    path("admin/", admin.site.urls),
    path("healthz", AliveView.as_view(), name="healthz"),
    path("readyz", ReadyView.as_view(), name="readyz"),
    path("metrics", MetricsView.as_view(), name="metrics"),
]
if settings.GATEWAY_OAUTH:  # otherwise nothing is advertised: clients that find a sign-in ignore a configured key
    urlpatterns.append(path("", include("gateway.oauth.urls")))
if settings.GATEWAY_SSO_ISSUER:
    urlpatterns.append(path("account/single-sign-on/", include("core.sign_in.single_sign_on_urls")))
if settings.CHAT_URL and "chat" in settings.GATEWAY_APPS:  # without it, a proxy sends /chat/ to the chat's process
    urlpatterns.append(path("chat/", RedirectView.as_view(url=settings.CHAT_URL), name="chat"))

handler400 = "gateway.api.error_pages.bad_request"
handler403 = "console.error_pages.render_forbidden"
handler404 = "console.error_pages.not_found"
handler500 = "gateway.api.error_pages.server_error"
