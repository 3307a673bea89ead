"""The middleware of pages, which the API passes by: it has no session, no form and no message to show."""

from collections.abc import Awaitable
from typing import TYPE_CHECKING

from django.contrib.auth import middleware as auth
from django.contrib.messages import middleware as messages
from django.contrib.sessions import middleware as sessions
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware import csrf
from django.utils.deprecation import MiddlewareMixin

API = "/api/"

if TYPE_CHECKING:
    _Middleware = MiddlewareMixin
else:
    _Middleware = object


class ForPages(_Middleware):
    """Stands before a middleware's own class and leaves it out of API calls, of which it would take a fifth."""

    def __call__(self, request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        if request.path_info.startswith(API):
            return self.get_response(request)
        return super().__call__(request)


class Sessions(ForPages, sessions.SessionMiddleware):
    pass


class Csrf(ForPages, csrf.CsrfViewMiddleware):
    pass


class Authentication(ForPages, auth.AuthenticationMiddleware):
    pass


class Messages(ForPages, messages.MessageMiddleware):
    pass
