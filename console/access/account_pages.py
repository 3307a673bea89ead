"""Second factor and Sessions look like pages of the console for people who can use it."""

from collections.abc import Callable

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse

ACCOUNT_PATH = "/account/"
CONSOLE_LAYOUT = "console/access/account_page.html"


class AccountPagesMiddleware:
    """Give django-allauth's pages the console's layout. Others who are signed in, such as end users, see a plain page.

    `templates/allauth/layouts/manage.html` extends `account_layout`.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self.get_response(request)

    def process_template_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        if (
            isinstance(response, TemplateResponse)
            and request.path.startswith(ACCOUNT_PATH)
            and admin.site.has_permission(request)
        ):
            layout = {"account_layout": CONSOLE_LAYOUT, "title": "Your account"}
            response.context_data = admin.site.each_context(request) | (response.context_data or {}) | layout
        return response
