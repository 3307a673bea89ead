"""Requests of the chat's API go straight to their views, which need neither sessions nor static files around them."""

from django.conf import settings
from django.core.handlers.asgi import ASGIHandler
from django.core.handlers.exception import convert_exception_to_response
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from chat.errors import ApiError
from config.csp import DENY_ALL, HEADER

PREFIX = "/chat/api/"
HEADERS = {HEADER: DENY_ALL, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin"}


class ChatApiHandler(ASGIHandler):
    """Django's handler without the middleware of pages, which changes between threads at each step.

    `chat.access.identity` reads sessions and checks CSRF itself.
    """

    def load_middleware(self, is_async: bool = False) -> None:
        """Put nothing but our own checks and headers before the views."""
        self._view_middleware: list[object] = []
        self._template_response_middleware: list[object] = []
        self._exception_middleware: list[object] = []
        self._middleware_chain = convert_exception_to_response(self._answer)

    async def _answer(self, request: HttpRequest) -> HttpResponseBase:
        request.get_host()  # refuses unknown hosts
        if settings.SECURE_SSL_REDIRECT and not request.is_secure():
            error = ApiError(400, "https_required", "Use https://. Change this API key: it was sent in the clear.")
            response: HttpResponseBase = error.to_response()
        else:
            response = await self._get_response_async(request)  # type: ignore[attr-defined]
        for name, value in HEADERS.items():
            response.headers[name] = value
        return response
