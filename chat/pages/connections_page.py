"""The way to the page where users manage their keys and sign-ins, which the gateway has."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET

from chat.errors import ApiError
from chat.gateway.client import Credentials, GatewayClient, GatewayRefused, GatewayUnavailable
from chat.pages.conversation_page import page_view


@require_GET
@page_view()
def open_connections(request: HttpRequest, subject: str) -> HttpResponse:  # noqa: ARG001 - as all pages
    """Send the browser to a link that opens once."""
    try:
        url = GatewayClient(Credentials(settings.CHAT_GATEWAY_KEY, subject)).fetch_connect_link()
    except GatewayRefused as refusal:
        raise ApiError(502, "gateway_refused", refusal.message) from None
    except GatewayUnavailable:
        raise ApiError(503, "gateway_unavailable", "The gateway cannot be reached. Try again soon.") from None
    return redirect(url)
